/** Short helpers for tests to examine answers. */
import type { Agent, HttpAnswer } from './agent.ts'

/** The outcome of an answer, for the rows of a table: `202`, or `400 invalid_envelope`. */
export function outcomeOf({ status, body }: HttpAnswer): string {
  const code: unknown = body?.error?.code
  return typeof code === 'string' ? `${status} ${code}` : `${status}`
}

/** How often each outcome occurs: `{ '202': 1, '409 request_pending': 9 }`. */
export function countOutcomes(answers: readonly HttpAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) counts[outcomeOf(answer)] = (counts[outcomeOf(answer)] ?? 0) + 1
  return counts
}

interface Spending {
  units: number
  introductions: number
  credits: number
}

/** The agent's spending today and its credits, according to its budget. */
export async function spendingOf(agent: Agent): Promise<Spending> {
  const { body } = await got(agent.get('/v2/budget'))
  return { units: body.used_units, introductions: body.used_introductions, credits: body.credit_balance }
}

/** Returns the answer, which must be a success. For calls that a test needs but does not test. */
export async function got(pending: Promise<HttpAnswer>): Promise<HttpAnswer> {
  const answer = await pending
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`)
  return answer
}
