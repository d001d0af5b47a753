/** PgBouncer of Debian, or the program that SVC_TEST_PGBOUNCER names, in front of a test's Postgres, in transaction mode, with fewer sessions than clients. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from '@svc/processes/child.ts'
import { markOf } from '@svc/processes/marks.ts'
import postgres from 'postgres'
import { eventually } from '../../eventually.ts'
import { findTestRun, takePorts } from '../engines.ts'

interface PgBouncer extends AsyncDisposable {
  /** The same login and database through the pooler, as a service would connect. */
  through(url: string): string
  /** Ends the pooler with all its connections, and starts it again. */
  restart(): Promise<void>
}

const PROGRAM = process.env.SVC_TEST_PGBOUNCER ?? '/usr/sbin/pgbouncer'
/** The reason why PgBouncer cannot run; undefined if it can. */
export const NO_PGBOUNCER = existsSync(PROGRAM) ? undefined : `${PROGRAM} is not installed (apt-get install pgbouncer)`
const SESSIONS = 3

/** @param urls of the logins that the pooler accepts, all on one server. */
export async function startPgBouncer(urls: readonly string[]): Promise<PgBouncer> {
  const { mark } = await findTestRun()
  const port = await takePorts()
  const [first = ''] = urls
  const users = urls.map((url) => new URL(url)).map(({ username, password }) => `"${username}" "${password}"`)
  // Not in the folder of the run: PgBouncer refuses to run as root, and only the owner may enter that folder.
  const folder = mkdtempSync(join(tmpdir(), 'svc-pgbouncer-'))
  const config = join(folder, `${markOf(mark, 'pgbouncer')}.ini`)
  writeFileSync(join(folder, 'users.txt'), users.join('\n'))
  writeFileSync(
    config,
    `[databases]
* = host=127.0.0.1 port=${new URL(first).port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = ${SESSIONS}
max_client_conn = 400
`,
  )
  const isRoot = process.getuid?.() === 0
  if (isRoot) execFileSync('chown', ['-R', 'nobody', folder])
  const start = () =>
    startChild({
      name: 'pgbouncer',
      command: PROGRAM,
      args: [...(isRoot ? ['--user=nobody'] : []), config],
      env: {},
      onLine: () => {},
    })
  let child = start()
  const pooler: PgBouncer = {
    through(text) {
      const url = new URL(text)
      url.host = `127.0.0.1:${port}`
      url.searchParams.set('pooler', 'transaction')
      return url.href
    },
    async restart() {
      child.kill('SIGKILL')
      await child.ended
      child = start()
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
  const url = new URL(first)
  url.port = String(port)
  await eventually(async () => {
    const sql = postgres(url.href, { max: 1, prepare: false, fetch_types: false })
    await sql`select 1`.finally(() => sql.end())
  })
  return pooler
}
