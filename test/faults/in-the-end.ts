import type { Sql } from 'postgres'
import { describe, expect, test } from 'vitest'
import type { HttpAnswer } from '../support/client/agent.ts'
import { untilAnswered } from '../support/client/retrying.ts'
import { findWrongBooks, untilResolved } from '../support/system/books.ts'
import { withDeathAt } from '../support/system/dying.ts'
import type { TestSystem } from '../support/system/system.ts'

/** The outcome of one client's call during which a process died. Checked at the end, when every charge is resolved. */
export interface Outcome {
  name: string
  /** Settles when the client has its last answer. */
  done: Promise<unknown>
  /** Throws if the books are wrong. */
  check: () => Promise<void>
}

/** How a client handles a missing answer: it repeats the call, as the specification requires, or it calls only once. */
type Client = 'repeats' | 'gives up'
export const CLIENTS: readonly Client[] = ['repeats', 'gives up']

/** A connection that closes tells a client as little as a 503 does. */
const UNANSWERED: HttpAnswer = {
  status: 503,
  headers: new Headers(),
  text: '',
  body: { error: { code: 'unavailable' } },
}

export function callAs(client: Client, call: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  return client === 'repeats' ? untilAnswered(call) : call().catch(() => UNANSWERED)
}

/**
 * Runs the calls of both clients while a process dies at `failpoint`, and starts the process again.
 * @param prepare makes what a client needs, without passing the failpoint. @returns the call of this client.
 */
export async function withBothClientsAt(
  system: TestSystem,
  failpoint: string,
  name: string,
  prepare: (client: Client) => Promise<() => Promise<unknown>>,
): Promise<void> {
  const calls = await Promise.all(CLIENTS.map(prepare))
  await withDeathAt(system, failpoint, name, () => Promise.all(calls.map((call) => call())))
}

/**
 * The tests at the end of a file whose tests kill processes: no charge without its effect, and no effect without its charge.
 */
export function describeTheEnd(outcomes: readonly Outcome[], admin: () => Sql, atLeast: number): void {
  describe('in the end', () => {
    test('every client was answered', { timeout: 120_000 }, async () => {
      await Promise.all(outcomes.map(({ done }) => done))
      expect(outcomes.length).toBeGreaterThanOrEqual(atLeast)
    })

    test('no reservation is left', { timeout: 120_000 }, async () => {
      await untilResolved(admin())
    })

    test('each agent has paid for the calls that took effect, and for no others', async () => {
      const found = await Promise.all(
        outcomes.map(async ({ name, check }) => {
          try {
            await check()
            return 'right'
          } catch (error) {
            return `${name}: ${error}`
          }
        }),
      )
      expect(found).toEqual(found.map(() => 'right'))
    })

    test('the records of both sides agree, operation by operation and account by account', async () => {
      await untilResolved(admin()) // for the charges of this check's own calls
      expect(await findWrongBooks(admin())).toEqual([])
    })
  })
}
