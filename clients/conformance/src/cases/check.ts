/** Helpers of the cases that are code. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from '../http/agent.ts'
import type { Answer } from '../http/exchange.ts'
import { checkAnswer } from './every-answer.ts'
import { mismatch } from './match.ts'
import { outcomeOf } from './outcome.ts'

/** @param expected with the looser expectations of case files too. @throws Error that says what differs. */
export function check(came: unknown, expected: unknown, what: string): void {
  const problem = mismatch(came, expected, what)
  if (problem !== undefined) throw new Error(problem)
}

/** @param outcome `202`, or `409 id_conflict`. @throws Error if the answer is another one, or breaks a rule of every answer. */
export async function expectOutcome(pending: Promise<Answer>, outcome: string, what: string): Promise<Answer> {
  const answer = await pending
  const problem = checkAnswer(answer)
  if (problem !== undefined) throw new Error(`${what}: ${problem}`)
  check(outcomeOf(answer), outcome, what)
  return answer
}

/** @returns the body of an answer that must be a success. For calls that a case needs but does not test. */
// biome-ignore lint/suspicious/noExplicitAny: cases say what an answer must be
export async function got(pending: Promise<Answer>): Promise<any> {
  const { status, text, body } = await pending
  if (status >= 300) throw new Error(`a call that the case needs was refused: ${status} ${text}`)
  return body
}

/** What the agent used today (spec 11.6). */
export async function spendingOf(agent: Agent): Promise<{ units: number; introductions: number; credits: number }> {
  const body = await got(agent.get('/v2/budget'))
  return { units: body.used_units, introductions: body.used_introductions, credits: body.credit_balance }
}

const MAX_TRIES = 30

/** Repeats a call while the server is unavailable, which it may be at any time (spec 3.5, 3.17). */
export async function answered(call: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await call()
    if (answer.status !== 503 || tries === MAX_TRIES) return answer
    await sleep(1_000)
  }
}
