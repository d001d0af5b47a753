import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { registerAgent as registerAgentCall } from '@svc/contracts/identity.ts'
import { isAgentName } from '@svc/contracts/ids.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { decodePublicKeyText } from '@svc/svc1/public-key.ts'
import { requestIdOf } from '@svc/telemetry/trace.ts'
import type { IdentityDeps } from '../deps.ts'
import { addressOf } from '../domain/agent.ts'
import { decodeChallenge } from '../domain/challenge.ts'
import { judgeRegistration } from '../domain/registration.ts'
import { findStanding, register } from '../store/registrations.ts'

type Request = RequestOf<typeof registerAgentCall>
type Reply = ReplyOf<typeof registerAgentCall>

/** Limit on decisions about one registration. It is decided again if a concurrent one takes the name, key or challenge. */
const MAX_DECISIONS = 5

/**
 * Registers a key under a name (spec 5.6). Deciding takes no locks: unique constraints settle which of several
 * concurrent registrations is first. The others are then decided again, against the new state.
 */
export async function registerAgent(
  {
    database,
    authority,
    challengeKeys,
    isReserved,
    security,
  }: Pick<IdentityDeps, 'database' | 'authority' | 'challengeKeys' | 'isReserved' | 'security'>,
  { name, pubkey, challenge: challengeText, nonce }: Request,
  { traceparent }: CallContext,
): Promise<Reply> {
  if (!isAgentName(name)) throw new ServiceError('invalid_name')
  // Decoding is enough here. The gateway has checked the key's order to verify the signature. `issueChallenge` has
  // checked it too, and there is no registration without a challenge.
  const publicKey = decodePublicKeyText(pubkey)
  if (publicKey === undefined) throw new ServiceError('invalid_pubkey')
  const agentId = agentIdOf(publicKey)
  const challenge = decodeChallenge(challengeText, challengeKeys)
  const attempt = { agentId, name, reserved: isReserved(name), publicKey, challengeText, challenge, nonce }

  for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
    const standing = await findStanding(database, agentId, name, challenge?.id)
    const verdict = judgeRegistration(attempt, standing, Date.now() / 1000)
    if (
      verdict.kind === 'repeat' ||
      (await register(database, { agentId, name, publicKey, challenge: verdict.challenge }))
    ) {
      failpoint('identity.registration.committed')
      if (verdict.kind === 'first') security.note('registration', agentId, { request_id: requestIdOf(traceparent) })
      return { agent_id: agentId, address: addressOf(name, authority) }
    }
  }
  throw new ServiceError('unavailable', { cause: new Error('concurrent registrations kept changing the outcome') })
}
