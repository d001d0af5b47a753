import { ServiceError } from '@svc/contracts/errors.ts'
import { checkWork } from '@svc/svc1/pow.ts'
import type { Challenge } from './challenge.ts'

/** A registration with a well-formed name and key. */
export interface Attempt {
  readonly agentId: string
  readonly name: string
  /** Whether the name is reserved, or looks like a reserved name. */
  readonly reserved: boolean
  /** 32 raw bytes. */
  readonly publicKey: Uint8Array
  /** The challenge exactly as the client sent it. The proof of work covers this text. */
  readonly challengeText: string
  /** The decoded challenge; undefined if it is malformed or not ours. */
  readonly challenge: Challenge | undefined
  /** The proof of work. */
  readonly nonce: string
}

/** The name, key and challenge as stored now. */
export interface Standing {
  /** The agent that has the name; undefined if the name is free. */
  readonly nameOwner: string | undefined
  /** The name that the key has; undefined if the key is not registered. */
  readonly ownName: string | undefined
  readonly challengeConsumed: boolean
}

/** Either an identical repeat, or a first registration with a valid challenge. */
type Verdict = { readonly kind: 'repeat' } | { readonly kind: 'first'; readonly challenge: Challenge }

const RESERVED = 'this name is reserved, or looks like a reserved name; choose another name'

/**
 * Decides whether a registration is a repeat, a first one, or refused. Follows the checks of spec 5.6 in their order,
 * from the repeat (step 2) on.
 * @param nowSeconds Unix seconds.
 * @throws ServiceError `invalid_name`, `challenge_invalid`, `pow_invalid`, `challenge_consumed`, `name_taken`, `key_registered`.
 */
export function judgeRegistration(attempt: Attempt, standing: Standing, nowSeconds: number): Verdict {
  if (standing.nameOwner === attempt.agentId) return { kind: 'repeat' }
  // After the repeat, because an agent keeps a name that was reserved later.
  if (attempt.reserved) throw new ServiceError('invalid_name', { detail: RESERVED })
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
