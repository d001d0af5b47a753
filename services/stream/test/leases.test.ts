import { randomUUID } from 'node:crypto'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStreamHere } from '../src/handlers/open-stream-here.ts'
import { listLeases, releaseLeases, takeLease } from '../src/store/leases.ts'
import { findRoom, purgeProcesses, removeProcess, reportProcess, SILENCE_SECONDS } from '../src/store/processes.ts'
import { createStreams } from '../src/streams/streams.ts'

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
  await admin`insert into stream.processes values ('living', 0, 'infinity')`
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
const take = (agent: string, id: string = randomUUID(), processId = 'living') =>
  database.run((sql) => takeLease(sql, agent, id, processId))
const silence = (processId: string, seconds: number) =>
  admin`update stream.processes set seen_at = clock_timestamp() - make_interval(secs => ${seconds}) where id = ${processId}`

describe('spec 9.8: two for each agent', () => {
  test('of 50 concurrent leases for one agent, two are taken', async () => {
    const agent = newAgent()
    const taken = await Promise.all(Array.from({ length: 50 }, () => take(agent)))
    expect(taken.filter(Boolean)).toHaveLength(2)
  })

  test('a released lease is free at once', async () => {
    const agent = newAgent()
    const [first, second] = [randomUUID(), randomUUID()]
    expect([await take(agent, first), await take(agent, second), await take(agent)]).toEqual([true, true, false])
    await database.run((sql) => releaseLeases(sql, [first]))
    expect([await take(agent), await take(agent)]).toEqual([true, false])
  })
})

describe('the leases of a process', () => {
  test('last while the process has its row, and are free when it is removed, within 15 s of its last report', async () => {
    expect(SILENCE_SECONDS).toBeLessThan(13) // and a report follows every 2 s
    const agent = newAgent()
    await database.run((sql) => reportProcess(sql, 'killed', 0))
    const lease = randomUUID()
    expect([await take(agent, lease, 'killed'), await take(agent), await take(agent)]).toEqual([true, true, false])
    await silence('killed', SILENCE_SECONDS - 5)
    await database.run((sql) => purgeProcesses(sql))
    expect(await take(agent)).toBe(false)
    await silence('killed', SILENCE_SECONDS)
    await database.run((sql) => purgeProcesses(sql))
    expect(await database.run((sql) => listLeases(sql, 'killed'))).toEqual([])
    expect([await take(agent), await take(agent)]).toEqual([true, false])
  })

  test('a removed process learns it from its next report, and takes no lease before that', async () => {
    expect(await database.run((sql) => reportProcess(sql, 'removed', 0))).toBe(false)
    expect(await database.run((sql) => reportProcess(sql, 'removed', 0))).toBe(true)
    await silence('removed', SILENCE_SECONDS)
    await database.run((sql) => purgeProcesses(sql))
    const streams = createStreams({ capacity: 1, onLeft: () => {} })
    const deps = { database, streams, processId: 'removed', address: 'http://nowhere', silenceSeconds: 1 }
    const context = { traceparent: newTraceparent(), deadlineMs: Number.POSITIVE_INFINITY }
    const opened = openStreamHere(deps, { agent_id: newAgent(), after: 0 }, context)
    await expect(opened).rejects.toMatchObject({ code: 'unavailable' })
    expect(streams.room).toBe(1)
    expect(await database.run((sql) => reportProcess(sql, 'removed', 0))).toBe(false)
    expect(await take(newAgent(), randomUUID(), 'removed')).toBe(true)
  })

  test('a process that reports late, but before it is removed, keeps them', async () => {
    await database.run((sql) => reportProcess(sql, 'late', 0))
    const lease = randomUUID()
    await take(newAgent(), lease, 'late')
    await silence('late', SILENCE_SECONDS)
    expect(await database.run((sql) => reportProcess(sql, 'late', 0))).toBe(true)
    await database.run((sql) => purgeProcesses(sql))
    expect(await database.run((sql) => listLeases(sql, 'late'))).toEqual([lease])
  })
})

test('processes with room, the emptiest first, without this one, full ones, and those that were not seen for a while', async () => {
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
