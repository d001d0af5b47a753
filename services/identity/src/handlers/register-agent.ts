import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { registerAgent as registerAgentCall } from '@svc/contracts/identity.ts'
import { isAgentName } from '@svc/contracts/ids.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { decodePublicKeyText } from '@svc/svc1/public-key.ts'
import type { IdentityDeps } from '../deps.ts'
import { addressOf } from '../domain/agent.ts'
import { decodeChallenge } from '../domain/challenge.ts'
import { judgeRegistration } from '../domain/registration.ts'
import { findStanding, register } from '../store/registrations.ts'

type Request = RequestOf<typeof registerAgentCall>
type Reply = ReplyOf<typeof registerAgentCall>

/** How often it is judged again because another registration took the name, the key or the challenge meanwhile. */
const MAX_DECISIONS = 5

/**
 * Registers a key under a name. Nothing is locked while it is judged: the unique constraints decide who was first, and
 * whoever was not is judged again by what is there then. Source: spec 5.6.
 */
export async function registerAgent(
  { database, authority, challengeKeys }: Pick<IdentityDeps, 'database' | 'authority' | 'challengeKeys'>,
  { name, pubkey, challenge: challengeText, nonce }: Request,
): Promise<Reply> {
  if (!isAgentName(name)) throw new ServiceError('invalid_name')
  // Its order was checked to verify the signature, and before that for the challenge, without which it is not registered.
  const publicKey = decodePublicKeyText(pubkey)
  if (publicKey === undefined) throw new ServiceError('invalid_pubkey')
  const agentId = agentIdOf(publicKey)
  const challenge = decodeChallenge(challengeText, challengeKeys)
  const attempt = { agentId, name, publicKey, challengeText, challenge, nonce }

  for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
    const standing = await findStanding(database, agentId, name, challenge?.id)
    const verdict = judgeRegistration(attempt, standing, Date.now() / 1000)
    if (
      verdict.kind === 'repeat' ||
      (await register(database, { agentId, name, publicKey, challenge: verdict.challenge }))
    ) {
      failpoint('identity.registration.committed')
      return { agent_id: agentId, address: addressOf(name, authority) }
    }
  }
  throw new ServiceError('unavailable', { cause: new Error('others register faster than this is decided') })
}
