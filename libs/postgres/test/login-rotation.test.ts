/** A process moves to a changed login in its file, while queries and transactions run (docs/operating/rotate.md). */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { openDatabase } from '../src/database.ts'
import { prepareRoles } from '../src/migration/roles.ts'

test('a process moves to the login in its file as soon as Postgres accepts it, and no query fails', async () => {
  await using stack = new AsyncDisposableStack()
  const made = stack.use(await createTestDatabase(['stream']))
  const admin = postgres(made.adminUrl, { max: 1, onnotice: () => {} })
  stack.defer(() => admin.end())
  // Roles belong to the whole server, so no other test uses these names.
  const suffix = randomBytes(4).toString('hex')
  const [first, second] = [`stream_${suffix}`, `stream_${suffix}_b`]
  const makeLogin = (login: string, password: string) =>
    prepareRoles({
      adminUrl: made.adminUrl,
      stores: ['stream'],
      loginsOf: () => [login],
      passwordOf: (role) =>
        role === login ? password : decodeURIComponent(new URL(made.urlFor('stream_owner')).password),
    })
  const urlOf = (user: string, password: string): string => {
    const url = new URL(made.urlFor('stream'))
    url.username = user
    url.password = password
    return url.href
  }
  await makeLogin(first, 'the first password')
  const roles = [first]
  stack.defer(async () => {
    for (const role of roles) await admin`drop role ${admin(role)}`
  })

  const file = join((await findTestRun()).folder, `database-url-${suffix}`)
  const write = (text: string): void => writeFileSync(file, `${text}\n`)
  const url = urlOf(first, 'the first password')
  write(url)
  const lines: string[] = []
  const logger = createLogger('test', 'silent') as Logger
  logger.error = (line: unknown) => void lines.push(String(line))
  const database = stack.use(openDatabase({ url, urlFile: file, application: `svc-${suffix}`, logger, poolSize: 4 }))
  const usersNow = async (): Promise<string[]> => {
    const rows = await admin<{ name: string }[]>`
      select distinct usename as name from pg_stat_activity where application_name = ${`svc-${suffix}`}`
    return rows.map(({ name }) => name)
  }

  const outcomes: string[] = []
  let stopped = false
  const asking = Array.from({ length: 8 }, async (_, at) => {
    while (!stopped) {
      const work =
        at % 2 === 0
          ? database.run((sql) => sql`select pg_sleep(0.02)`)
          : database.transaction(async (tx) => {
              await tx`select pg_sleep(0.01)`
              await tx`select pg_sleep(0.01)`
            })
      outcomes.push(
        await work.then(
          () => 'ok',
          (error: Error) => String(error.cause ?? error),
        ),
      )
    }
  })
  const more = (count: number) => {
    const target = outcomes.length + count
    return eventually(() => outcomes.length >= target)
  }
  await more(50)

  // The file is changed before the role exists, and names another server for a while.
  write(urlOf(second, 'the second password'))
  await eventually(() => lines.some((line) => line.includes('refuses the login in SVC_DATABASE_URL')))
  expect(lines).toEqual([
    expect.stringMatching(
      new RegExp(
        `^Postgres at \\S+ refuses the login in SVC_DATABASE_URL \\(.*${second}.*\\): compare it with the roles of Postgres. Until then the process uses the login that it used before.$`,
      ),
    ),
  ])
  write(urlOf(second, 'the second password').replace(/\/[^/]*$/, '/elsewhere'))
  await eventually(() => lines.some((line) => line.includes('names another server, database or parameter')))
  await more(50)
  expect(await usersNow()).toEqual([first])
  roles.push(second)
  await makeLogin(second, 'the second password')
  write(urlOf(second, 'the second password'))
  await eventually(async () => (await usersNow()).join() === second, { timeoutMs: 30_000 })

  // Nothing uses the first login any more, so it can end.
  await admin`alter role ${admin(first)} nologin`
  await more(50)
  stopped = true
  await Promise.all(asking)
  expect([...new Set(outcomes)]).toEqual(['ok'])
  expect(lines.join()).not.toContain('second password')

  // Changed on the server first: open connections go on, new ones are refused, and the file's new password ends that.
  await makeLogin(second, 'the third password')
  expect(await database.run((sql) => sql`select 1 as one`)).toEqual([{ one: 1 }])
  write(urlOf(second, 'the third password'))
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${`svc-${suffix}`}`
  await eventually(() =>
    database
      .run((sql) => sql`select 1`)
      .then(
        () => true,
        () => false,
      ),
  )
})
