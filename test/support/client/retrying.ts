import { eventually } from '../eventually.ts'

/** An answer may take 5 s to be a 503, and the process that is asked may die and start again many times. */
const LIMIT_MS = 100_000

/**
 * What a client does that follows spec 13.2: repeats the call, signed anew and with the same envelope, until it is told
 * something else than 503.
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
