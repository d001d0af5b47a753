/** Slow computations, in a worker thread, so that the page stays responsive. */

export interface WorkProgress {
  readonly hashes: number
  /** The mean number of hashes until one fits. The chance of having finished is 1 − e^(−hashes / expectedHashes). */
  readonly expectedHashes: number
}

/**
 * Finds a nonce for a challenge. Give it to `client.register(name, { solve: solveInWorker, onProgress, signal })`. Aborting
 * `signal` ends the worker at once.
 */
export type SolveInWorker = (
  challenge: string,
  difficulty: number,
  options?: {
    readonly signal?: AbortSignal | undefined
    readonly onProgress?: ((progress: WorkProgress) => void) | undefined
  },
) => Promise<string>
