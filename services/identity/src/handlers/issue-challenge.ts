import { randomUUID } from 'node:crypto'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { issueChallenge as issueChallengeCall } from '@svc/contracts/identity.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import { parsePublicKeyNode } from '@svc/svc1/node/verify-node.ts'
import { decodePublicKeyText } from '@svc/svc1/public-key.ts'
import type { IdentityDeps } from '../deps.ts'
import { encodeChallenge } from '../domain/challenge.ts'

type Request = RequestOf<typeof issueChallengeCall>
type Reply = ReplyOf<typeof issueChallengeCall>

/** Issues a challenge without writing anything (spec 5.4). Every process that has the key accepts it. */
export async function issueChallenge(
  { challengeKeys, powDifficulty }: Pick<IdentityDeps, 'challengeKeys' | 'powDifficulty'>,
  { pubkey, key_checked = false }: Request,
): Promise<Reply> {
  const publicKey = key_checked ? decodePublicKeyText(pubkey) : parsePublicKeyNode(pubkey)
  if (publicKey === undefined) throw new ServiceError('invalid_pubkey')
  const expiresAt = Math.floor(Date.now() / 1000) + LIMITS.challengeSeconds
  const challenge = { id: randomUUID(), publicKey, difficulty: powDifficulty, expiresAt }
  return {
    challenge: encodeChallenge(challenge, challengeKeys[0]),
    difficulty: powDifficulty,
    expires_at: expiresAt,
    algorithm: 'sha256',
  }
}
