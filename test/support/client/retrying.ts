import { eventually } from '../eventually.ts'

/** A 503 may take 5 s, and the called process may die and restart many times. */
const LIMIT_MS = 100_000

/**
 * Calls like a client of spec 13.2: repeats the call until the answer is not 503. Each attempt has a new signature and the
 * same envelope.
 */
export function untilAnswered<A extends { status: number }>(call: () => Promise<A>): Promise<A> {
  return eventually(
    async () => {
      const answer = await call()
      return answer.status !== 503 && answer
    },
    { timeoutMs: LIMIT_MS, what: 'an answer' },
  )
}
