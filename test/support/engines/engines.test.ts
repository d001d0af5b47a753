import { connect } from 'nats'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { borrowDatabase, createTestDatabase } from './database.ts'
import { startTestNats, takePorts } from './engines.ts'

test('each test gets its own migrated database, with only the rights of the service', async () => {
  await using database = await createTestDatabase(['messaging'])
  await using other = await createTestDatabase(['messaging'])
  const sql = postgres(database.urlFor('messaging'), { max: 1 })
  const otherSql = postgres(other.urlFor('messaging'), { max: 1 })
  try {
    await sql`insert into messaging.logs (id) values ('a')`
    expect(await sql`select id from messaging.logs`).toHaveLength(1)
    expect(await otherSql`select id from messaging.logs`).toHaveLength(0)
    await expect(sql`create table messaging.x ()`).rejects.toThrow('permission denied')
  } finally {
    await Promise.all([sql.end(), otherSql.end()])
  }
})

test('a borrowed database is empty, although a test before has filled it', async () => {
  for (const _ of ['first', 'again']) {
    await using database = await borrowDatabase()
    const sql = postgres(database.urlFor('messaging'), { max: 1 })
    try {
      expect(await sql`select id from messaging.logs`).toHaveLength(0)
      expect(await sql`select slot from messaging.slots where emptied_at is null`).toHaveLength(8)
      await sql`insert into messaging.logs (id) values ('a')`
      await sql`update messaging.slots set emptied_at = clock_timestamp()`
    } finally {
      await sql.end()
    }
  }
})

test('each test gets its own NATS, which keeps its port over restarts', async () => {
  await using nats = await startTestNats()
  await using other = await startTestNats()
  expect(other.urlFor('budget')).not.toBe(nats.urlFor('budget'))
  const url = nats.urlFor('budget')
  await nats.kill()
  await nats.restart()
  expect(nats.urlFor('budget')).toBe(url)
  const { username: user, password: pass, host: servers } = new URL(url)
  const connection = await connect({ servers, user, pass })
  await connection.close()
})

test('each port has one owner, and consecutive ports have the same owner', async () => {
  const counts = Array.from({ length: 60 }, (_, at) => 1 + (at % 3))
  const firsts = await Promise.all(counts.map((count) => takePorts(count)))
  const ports = firsts.flatMap((first, at) => Array.from({ length: counts[at] ?? 0 }, (_, next) => first + next))
  expect(new Set(ports).size).toBe(120)
})
