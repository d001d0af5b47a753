import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { release } from '@svc/contracts/budget.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect, test } from 'vitest'

const STREAM = fileURLToPath(new URL('../../../services/stream/src/main.ts', import.meta.url))
const PROCESS = fileURLToPath(new URL('./hanging-process.ts', import.meta.url))
const FAILING = fileURLToPath(new URL('./failing-process.ts', import.meta.url))

test('a process whose loop has failed ends by itself, with code 1, so that its supervisor starts another', async () => {
  await using nats = await startTestNats()
  await using database = await createTestDatabase(['budget'])
  const child = spawn(process.execPath, [PROCESS], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { SVC_NATS_URL: nats.urlFor('budget'), SVC_DATABASE_URL: database.urlFor('budget') },
  })
  const printed = Promise.all([child.stdout, child.stderr].map(async (output) => (await output.toArray()).join('')))
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
  const [stdout, stderr] = await printed
  expect(stdout).toContain('"msg":"ready"')
  expect(stderr).toContain('the loop hanging has failed: too many of its passes hang')
})

test('an unhandled error is logged and counted, and drains the process: a call under way is answered, the exit code is 1', async () => {
  await using stack = new AsyncDisposableStack()
  const nats = stack.use(await startTestNats())
  const database = stack.use(await createTestDatabase(['budget']))
  const env = {
    SVC_NATS_URL: nats.urlFor('budget'),
    SVC_DATABASE_URL: database.urlFor('budget'),
    SVC_METRICS_PORT: '0',
  }
  const failing = startProcess(FAILING, env)
  stack.defer(() => void failing.child.kill('SIGKILL'))
  await eventually(() => failing.printed().includes('"msg":"ready"'))
  const port = /"port":(\d+),"msg":"metrics"/.exec(failing.printed())?.[1]
  const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const countUnhandled = async (): Promise<string | undefined> =>
    /^agentmsg_unhandled_errors_total\{.*\} (\d+)$/m.exec(await scrape())?.[1]
  expect(await countUnhandled()).toBe('0')
  // The first failure of a call is an increase, because its series exists before the first call.
  const served = (await scrape()).split('\n').filter((line) => /^agentmsg_served_total.*svc.budget.release/.test(line))
  expect(served.map((line) => line.replace(',component="budget"', ''))).toEqual([
    'agentmsg_served_total{call="svc.budget.release",outcome="internal"} 0',
    'agentmsg_served_total{call="svc.budget.release",outcome="unavailable"} 0',
  ])

  const logger = createLogger('test', 'silent')
  const connection = await connectNats({ url: nats.urlFor('messaging'), name: 'test', logger })
  stack.adopt(connection, (caller) => drainNats(caller, 1_000))
  const bus = stack.use(createBus(connection))
  const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + 30_000 }
  expect(await bus.call(release, { operation: 'an-operation', deadline_ms: 0 }, context)).toEqual({})
  // Everything else has ended, and the process waits until the count is scraped.
  await eventually(() => failing.printed().includes('"msg":"draining"'))
  expect(await countUnhandled()).toBe('2')

  expect((await failing.closed)[0]).toBe(1)
  const errors = failing
    .printed()
    .split('\n')
    .filter((line) => line.includes('"level":50'))
  expect(errors).toEqual([
    expect.stringMatching(/the first that nobody handles.*"stack":"[^"]*failing-process\.ts/),
    expect.stringMatching(/the second that nobody handles.*"stack":"[^"]*failing-process\.ts/),
  ])
})

test('docs/operating/upgrade.md: a process waits for the migrations that its code needs, and accepts later ones', async () => {
  await using nats = await startTestNats()
  await using database = await createTestDatabase(['stream'])
  await using admin = openDatabase({
    url: database.adminUrl,
    application: 'test',
    logger: createLogger('test', 'silent'),
  })
  const env = { SVC_NATS_URL: nats.urlFor('stream'), SVC_DATABASE_URL: database.urlFor('stream') }
  const [newest] = await admin.sql<{ name: string }[]>`
    delete from stream.migrations where name = (select max(name) from stream.migrations) returning name`
  const name = newest?.name ?? ''
  const waiting = startProcess(STREAM, env)
  await eventually(() => waiting.printed().includes(`the schema lacks migration ${name}; waiting`))
  // On SIGTERM it has nothing left to finish.
  waiting.child.kill('SIGTERM')
  expect((await waiting.closed)[0]).toBe(0)

  const later = startProcess(STREAM, env)
  await eventually(() => later.printed().includes('; waiting'))
  expect(later.printed()).not.toContain('"msg":"ready"')
  await admin.sql`insert into stream.migrations (name, run_on) values (${name}, now()), ('9999_of-a-later-release', now())`
  await eventually(() => later.printed().includes('"msg":"ready"'))
  later.child.kill('SIGTERM')
  expect((await later.closed)[0]).toBe(0)
})

function startProcess(file: string, env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'], env })
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += String(chunk)
  })
  return { child, closed: once(child, 'close'), printed: () => printed }
}
