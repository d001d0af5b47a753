/** Faults of the driver, reproduced every time on connections that the test controls. The patch of the driver fixes each. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase([])
})
afterAll(() => database?.[Symbol.asyncDispose]())

/** A driver whose connections are opened by the test. */
function createDriver(max: number, open: () => Promise<Socket>): postgres.Sql {
  // `socket` is missing in the driver's types.
  return postgres(database.adminUrl, { max, fetch_types: false, socket: open } as postgres.Options<never>)
}

async function openSocket(): Promise<Socket> {
  const { port, hostname } = new URL(database.adminUrl)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket
}

test('unsent bytes of a closed connection are not sent on the next one', async () => {
  const opened: Socket[] = []
  const sql = createDriver(1, async () => {
    const socket = await openSocket()
    opened.push(socket)
    return socket
  })
  await sql`select 1`
  opened[0]?.destroy()
  // The driver buffers a query until the next tick of the event loop. By then it knows that the connection is gone.
  await new Promise((resolve) => setImmediate(resolve))
  const lost = sql`select 2`.execute()
  await expect(lost).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect([...(await sql`select 3 as three`)]).toEqual([{ three: 3 }])
  await sql.end({ timeout: 0 })
})

test('later queries do not overtake one that waits for a connection', async () => {
  let sockets = 0
  const sql = createDriver(2, () => {
    sockets += 1
    // The second connection never opens, so there is always a query that waits for it.
    return sockets === 1 ? openSocket() : new Promise(() => {})
  })
  const answered: string[] = []
  const ask = async (name: string): Promise<void> => {
    await sql`select ${name}::text`
    answered.push(name)
  }
  const first = ask('first')
  ask('of the second connection').catch(() => {}) // ends with the driver
  const waiting = [ask('waits first'), ask('waits second')]
  await first
  await Promise.all([...waiting, ask('comes last')])
  expect(answered).toEqual(['first', 'waits first', 'waits second', 'comes last'])
  await sql.end({ timeout: 0 })
})
