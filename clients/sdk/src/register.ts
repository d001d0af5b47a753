import type { Challenge, RegistrationResult } from '@svc/contracts/resources.ts'
import { type SolveProgress, solveWork } from '@svc/svc1/pow.ts'
import { AnswerError, isCode } from './errors.ts'

export interface RegisterOptions {
  /** Stops the proof of work, or the request that is under way. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called about 80 times a second during the proof of work. The end cannot be predicted: after `hashes` hashes the
   * chance of having finished is 1 − e^(−hashes / expectedHashes).
   */
  readonly onProgress?: ((progress: SolveProgress) => void) | undefined
  /** Does the proof of work, for example in a worker thread. Gets `signal` and `onProgress`. Default: this thread, in slices. */
  readonly solve?: typeof solveWork | undefined
}

interface Calls {
  readonly requestChallenge: () => Promise<Challenge>
  readonly submit: (challenge: string, nonce: string) => Promise<RegistrationResult>
}

/** The most challenges of one registration. A further challenge is needed if one expired or was used meanwhile. */
const MAX_CHALLENGES = 3
/** More work would outlast the five minutes of any challenge, so an honest service does not ask for more. */
const MAX_DIFFICULTY = 28

/** Asks for a challenge, does the proof of work and submits both (spec 5.4 to 5.6). */
export async function register(calls: Calls, options: RegisterOptions): Promise<RegistrationResult> {
  for (let challenges = 1; ; challenges++) {
    const { challenge, difficulty, algorithm } = await calls.requestChallenge()
    if (algorithm !== 'sha256')
      throw new AnswerError(`this SDK does not support the proof of work ${String(algorithm)}`)
    if (difficulty > MAX_DIFFICULTY)
      throw new AnswerError(`a proof of work of ${difficulty} bits would outlast its challenge`)
    const nonce = await (options.solve ?? solveWork)(challenge, difficulty, options)
    try {
      return await calls.submit(challenge, nonce)
    } catch (error) {
      if (challenges === MAX_CHALLENGES || !isSpent(error)) throw error
    }
  }
}

/** Whether the challenge expired during the work, or another registration of this key has used it. */
function isSpent(error: unknown): boolean {
  return isCode(error, 'challenge_invalid') || isCode(error, 'challenge_consumed')
}
