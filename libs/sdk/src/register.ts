import type { Challenge, RegistrationResult } from '@svc/contracts/resources.ts'
import { type SolveProgress, solveWork } from '@svc/svc1/pow.ts'
import { AnswerError, ApiError } from './errors.ts'

export interface RegisterOptions {
  /** Stops the proof of work and whatever request is under way. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called some 80 times a second while the work goes on. It has no end that could be foreseen: after `hashes` the
   * chance of having finished is 1 − e^(−hashes / expectedHashes).
   */
  readonly onProgress?: ((progress: SolveProgress) => void) | undefined
}

interface Calls {
  readonly requestChallenge: () => Promise<Challenge>
  readonly submit: (challenge: string, nonce: string) => Promise<RegistrationResult>
}

/** Challenges asked for in one registration: one, and others where one ran out or was used meanwhile. */
const MAX_CHALLENGES = 3
/** Past this the work outlasts any challenge's five minutes, and no honest service asks for it. */
const MAX_DIFFICULTY = 28

/** Asks for a challenge, does its work and submits both (spec 5.4 to 5.6). */
export async function register(calls: Calls, options: RegisterOptions): Promise<RegistrationResult> {
  for (let challenges = 1; ; challenges++) {
    const { challenge, difficulty, algorithm } = await calls.requestChallenge()
    if (algorithm !== 'sha256') throw new AnswerError(`this SDK knows no proof of work by ${String(algorithm)}`)
    if (difficulty > MAX_DIFFICULTY)
      throw new AnswerError(`a proof of work of ${difficulty} bits cannot be done in time`)
    const nonce = await solveWork(challenge, difficulty, options)
    try {
      return await calls.submit(challenge, nonce)
    } catch (error) {
      if (challenges === MAX_CHALLENGES || !isSpent(error)) throw error
    }
  }
}

/** Expired while the work was done, or used by another registration of this key. */
function isSpent(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'challenge_invalid' || error.code === 'challenge_consumed')
}
