import { ServiceError } from '@svc/contracts/errors.ts'
import { checkWork } from '@svc/svc1/pow.ts'
import type { Challenge } from './challenge.ts'

/** A registration whose name and key are well formed. */
export interface Attempt {
  readonly agentId: string
  readonly name: string
  /** 32 raw bytes. */
  readonly publicKey: Uint8Array
  /** The challenge as it was sent: the work is over this text. */
  readonly challengeText: string
  /** What it says, undefined where it is malformed or foreign. */
  readonly challenge: Challenge | undefined
  /** The proof of work. */
  readonly nonce: string
}

/** What is registered and consumed already. */
export interface Standing {
  /** Whose the name is; undefined: nobody's. */
  readonly nameOwner: string | undefined
  /** The name that the key has; undefined: none. */
  readonly ownName: string | undefined
  readonly challengeConsumed: boolean
}

/** An identical repeat, or a first registration with a challenge that is good for it. */
export type Verdict = { readonly kind: 'repeat' } | { readonly kind: 'first'; readonly challenge: Challenge }

/**
 * What a registration is, or why it is refused. Source and order of the checks: spec 5.6, from the repeat (step 2) on.
 * @param nowSeconds Unix seconds.
 * @throws ServiceError `challenge_invalid`, `pow_invalid`, `challenge_consumed`, `name_taken`, `key_registered`.
 */
export function judgeRegistration(attempt: Attempt, standing: Standing, nowSeconds: number): Verdict {
  if (standing.nameOwner === attempt.agentId) return { kind: 'repeat' }
  const { challenge } = attempt
  if (challenge === undefined || !isSame(challenge.publicKey, attempt.publicKey) || challenge.expiresAt <= nowSeconds) {
    throw new ServiceError('challenge_invalid')
  }
  if (!checkWork(attempt.challengeText, attempt.nonce, challenge.difficulty)) throw new ServiceError('pow_invalid')
  if (standing.challengeConsumed) throw new ServiceError('challenge_consumed')
  if (standing.nameOwner !== undefined) throw new ServiceError('name_taken')
  if (standing.ownName !== undefined) throw new ServiceError('key_registered')
  return { kind: 'first', challenge }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
