import { randomUUID } from 'node:crypto'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_SECONDS, purgeLeases, releaseLeases, renewLeases, takeLease } from '../src/store/leases.ts'
import { findRoom, purgeProcesses, removeProcess, reportProcess } from '../src/store/processes.ts'

let testDatabase: TestDatabase
let database: Database
let admin: postgres.Sql
beforeAll(async () => {
  testDatabase = await createTestDatabase(['stream'])
  database = openDatabase({
    url: testDatabase.urlFor('stream'),
    application: 'test',
    logger: createLogger('test', 'silent'),
  })
  admin = postgres(testDatabase.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin.end()
  await database[Symbol.asyncDispose]()
  await testDatabase[Symbol.asyncDispose]()
})

let made = 0
const newAgent = (): string => {
  made += 1
  return `agent-${made}`
}
const take = (agent: string, id: string = randomUUID()) => database.run((sql) => takeLease(sql, agent, id))
const age = (id: string, seconds: number) =>
  admin`update stream.leases set expires_at = expires_at - make_interval(secs => ${seconds}) where id = ${id}`

describe('spec 9.8: two for each agent', () => {
  test('of 50 at once two are taken', async () => {
    const agent = newAgent()
    const taken = await Promise.all(Array.from({ length: 50 }, () => take(agent)))
    expect(taken.filter(Boolean)).toHaveLength(2)
  })

  test('one that is given back is free at once', async () => {
    const agent = newAgent()
    const [first, second] = [randomUUID(), randomUUID()]
    expect([await take(agent, first), await take(agent, second), await take(agent)]).toEqual([true, true, false])
    await database.run((sql) => releaseLeases(sql, [first]))
    expect([await take(agent), await take(agent)]).toEqual([true, false])
  })

  test('one that nobody renews is free within 15 s', async () => {
    expect(LEASE_SECONDS).toBeLessThan(15)
    const agent = newAgent()
    const ids = [randomUUID(), randomUUID()]
    for (const id of ids) await take(agent, id)
    for (const id of ids) await age(id, LEASE_SECONDS)
    const taken = await Promise.all(Array.from({ length: 20 }, () => take(agent)))
    expect(taken.filter(Boolean)).toHaveLength(2)
  })
})

describe('renewal', () => {
  test('keeps what is still there, also where its time had run out, and tells what is another’s by now', async () => {
    const agent = newAgent()
    const [kept, lost] = [randomUUID(), randomUUID()]
    await take(agent, kept)
    await take(agent, lost)
    await age(lost, LEASE_SECONDS + 1)
    expect(await take(agent)).toBe(true)
    await age(kept, LEASE_SECONDS + 1)
    expect(await database.run((sql) => renewLeases(sql, [kept, lost]))).toEqual([kept])
    expect(await take(agent)).toBe(false)
  })

  test('of none is none', async () => {
    expect(await database.run((sql) => renewLeases(sql, []))).toEqual([])
  })

  test('what killed processes left is removed after a while', async () => {
    const agent = newAgent()
    const [old, young] = [randomUUID(), randomUUID()]
    await take(agent, old)
    await take(agent, young)
    await age(old, LEASE_SECONDS + 61)
    await age(young, LEASE_SECONDS + 1)
    await database.run((sql) => purgeLeases(sql))
    const left = await admin`select id from stream.leases where agent_id = ${agent}`
    expect(left.map((row) => row.id)).toEqual([young])
  })
})

test('processes with room, the emptiest first, but this one, full ones, and those that were not seen for a while', async () => {
  for (const [id, room] of [
    ['self', 9],
    ['full', 0],
    ['one', 1],
    ['many', 50],
    ['gone', 99],
    ['left', 99],
  ] as const)
    await database.run((sql) => reportProcess(sql, id, room))
  await admin`update stream.processes set seen_at = seen_at - interval '61 seconds' where id = 'gone'`
  await database.run((sql) => removeProcess(sql, 'left'))
  expect(await database.run((sql) => findRoom(sql, 'self', 5))).toEqual(['many', 'one'])
  await database.run((sql) => reportProcess(sql, 'many', 0))
  expect(await database.run((sql) => findRoom(sql, 'self', 5))).toEqual(['one'])
  await database.run((sql) => purgeProcesses(sql))
  expect(await admin`select id from stream.processes where id = 'gone'`).toHaveLength(0)
})
