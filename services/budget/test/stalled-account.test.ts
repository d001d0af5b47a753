import type { Database } from '@svc/postgres/database.ts'
import { expect, test } from 'vitest'
import { type Calls, startHarness } from './harness.ts'

const HELD = { agent: 'held' }

test.each([
  ['an account', true],
  ['a new account', false],
])('a lock on %s by another transaction does not delay the reservations of others', async (_name, isKnown) => {
  await using h = await startHarness()
  const calls = h.calls()
  if (isKnown) await calls.spend(HELD)
  const hold = await holdAccount(h.database, calls.agentId('held'))
  const own = [calls.reserve(HELD), calls.reserve(HELD)]
  try {
    const first = Promise.allSettled([Promise.race(own)]).then(([{ status }]) => status)
    expect(await Promise.race([reserveForOthers(calls), first])).toBe('others went on')
  } finally {
    await hold[Symbol.asyncDispose]()
    await Promise.allSettled(own)
  }
  expect(await Promise.all(own)).toMatchObject([{ settled: false }, { settled: false }])
  expect(await calls.budget('held')).toMatchObject({ used_units: isKnown ? 3 : 2 })
})

async function reserveForOthers(calls: Calls): Promise<string> {
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(['alice', 'bob', `carol-${round}`].map((agent) => calls.reserve({ agent })))
  }
  return 'others went on'
}

/** Locks an account until the result is disposed. Opens the account if needed. */
async function holdAccount(database: Database, agentId: string): Promise<AsyncDisposable> {
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ended = database.transaction(async (tx) => {
    await tx`
      insert into budget.accounts as a (agent_id) values (${agentId})
      on conflict (agent_id) do update set used_units = a.used_units`
    held.resolve()
    await free.promise
  })
  await Promise.race([held.promise, ended])
  return {
    async [Symbol.asyncDispose]() {
      free.resolve()
      await ended
    },
  }
}
