import { ServiceError } from '@svc/contracts/errors.ts'
import { checkWork } from '@svc/svc1/pow.ts'
import { describe, expect, test } from 'vitest'
import type { Challenge } from './challenge.ts'
import { type Attempt, judgeRegistration, type Standing } from './registration.ts'

const NOW = 1_800_000_000
const DIFFICULTY = 4
const PUBLIC_KEY = new Uint8Array(32).fill(7)
const CHALLENGE: Challenge = { id: 'c', publicKey: PUBLIC_KEY, difficulty: DIFFICULTY, expiresAt: NOW + 300 }
const CHALLENGE_TEXT = 'the challenge'
const GOOD_NONCE = nonceWhere(true)
const BAD_NONCE = nonceWhere(false)

const ATTEMPT: Attempt = {
  agentId: 'me',
  name: 'alice',
  reserved: false,
  publicKey: PUBLIC_KEY,
  challengeText: CHALLENGE_TEXT,
  challenge: CHALLENGE,
  nonce: GOOD_NONCE,
}
const FREE: Standing = { nameOwner: undefined, ownName: undefined, challengeConsumed: false }

describe('spec 5.6: the answer to a registration', () => {
  test.each<[string, Partial<Attempt>, Partial<Standing>, string]>([
    ['first registration', {}, {}, 'first'],
    ['identical repeat', {}, { nameOwner: 'me', ownName: 'alice', challengeConsumed: true }, 'repeat'],
    ['reserved name', { reserved: true }, {}, 'invalid_name'],
    [
      'repeat under a name that was reserved later',
      { reserved: true },
      { nameOwner: 'me', ownName: 'alice' },
      'repeat',
    ],
    ['challenge malformed or foreign', { challenge: undefined }, {}, 'challenge_invalid'],
    [
      'challenge for another key',
      { challenge: { ...CHALLENGE, publicKey: new Uint8Array(32) } },
      {},
      'challenge_invalid',
    ],
    ['challenge that expires now', { challenge: { ...CHALLENGE, expiresAt: NOW } }, {}, 'challenge_invalid'],
    ['challenge in its last second', { challenge: { ...CHALLENGE, expiresAt: NOW + 1 } }, {}, 'first'],
    ['wrong work', { nonce: BAD_NONCE }, {}, 'pow_invalid'],
    ['an empty nonce', { nonce: '', challenge: { ...CHALLENGE, difficulty: 0 } }, {}, 'pow_invalid'],
    [
      'a nonce of 129 characters',
      { nonce: 'a'.repeat(129), challenge: { ...CHALLENGE, difficulty: 0 } },
      {},
      'pow_invalid',
    ],
    ['a nonce with a space', { nonce: 'a b', challenge: { ...CHALLENGE, difficulty: 0 } }, {}, 'pow_invalid'],
    [
      'any work if the challenge asks for none',
      { nonce: 'x', challenge: { ...CHALLENGE, difficulty: 0 } },
      {},
      'first',
    ],
    ['work for less than the challenge asks', { challenge: { ...CHALLENGE, difficulty: 255 } }, {}, 'pow_invalid'],
    ['consumed', {}, { challengeConsumed: true }, 'challenge_consumed'],
    ['name taken by another key', {}, { nameOwner: 'other' }, 'name_taken'],
    ['key registered under another name', {}, { ownName: 'bob' }, 'key_registered'],
  ])('%s', (_, attempt, standing, expected) => {
    expect(answerOf({ ...ATTEMPT, ...attempt }, { ...FREE, ...standing })).toBe(expected)
  })

  // Tries every set of faults that can occur together. The expected answer is the first fault in the order of
  // spec 5.6.
  const FAULTS = [
    'invalid_name',
    'challenge_invalid',
    'pow_invalid',
    'challenge_consumed',
    'name_taken',
    'key_registered',
  ] as const
  const sets = Array.from({ length: 2 ** FAULTS.length }, (_, bits) => FAULTS.filter((_, index) => bits & (1 << index)))
  test.each(sets.map((faults) => [faults.join(', ') || 'none', faults] as const))(
    'order of checks: %s',
    (_, faults) => {
      const has = (fault: (typeof FAULTS)[number]): boolean => faults.includes(fault)
      const attempt: Attempt = {
        ...ATTEMPT,
        reserved: has('invalid_name'),
        challenge: has('challenge_invalid') ? { ...CHALLENGE, expiresAt: NOW - 1 } : CHALLENGE,
        nonce: has('pow_invalid') ? BAD_NONCE : GOOD_NONCE,
      }
      const standing: Standing = {
        nameOwner: has('name_taken') ? 'other' : undefined,
        ownName: has('key_registered') ? 'bob' : undefined,
        challengeConsumed: has('challenge_consumed'),
      }
      expect(answerOf(attempt, standing)).toBe(faults[0] ?? 'first')
      expect(answerOf(attempt, { ...standing, nameOwner: 'me', ownName: 'alice' })).toBe('repeat')
    },
  )
})

function answerOf(attempt: Attempt, standing: Standing): string {
  try {
    return judgeRegistration(attempt, standing, NOW).kind
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

function nonceWhere(good: boolean): string {
  for (let counter = 0; ; counter += 1) {
    if (checkWork(CHALLENGE_TEXT, String(counter), DIFFICULTY) === good) return String(counter)
  }
}
