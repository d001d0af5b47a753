import pg from 'pg'
import { greetingOf, type PostgresServer } from './server.ts'

/** Hosters give roles deadlines, which the build of an index or the copy of a large table would not meet. */
const NO_DEADLINES = `
  select pg_catalog.set_config(name, '0', false) from pg_catalog.pg_settings
  where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

/**
 * Connects for work that takes long and needs a session: migrations, backups. No statement has a deadline. Tries the hosts in
 * turn, because `pg` knows only one, and takes only a host that accepts writes.
 * @throws the error of the last host.
 */
export async function connectClient(server: PostgresServer, application: string): Promise<pg.Client> {
  const { hosts, user, password, database, ssl, sslnegotiation, isPooled, asTlsError } = server
  if (isPooled) throw new Error('this needs a session: use a URL of Postgres itself, without a pooler')
  let failure: unknown
  for (const { host, port } of hosts) {
    const client = new pg.Client({
      ...{ host, port, user, password, database, ssl, sslnegotiation, ...greetingOf(server, application) },
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    })
    // A lost connection fails the current query. Without a listener the event would end the process too.
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query<{ writes: boolean }>(
        `select pg_catalog.current_setting('transaction_read_only') = 'off' as writes`,
      )
      if (rows[0]?.writes === true) {
        await client.query(NO_DEADLINES)
        return client
      }
      failure = new Error(`${host}:${port} accepts no writes: it is a standby, or read-only`)
    } catch (error) {
      failure = asTlsError(error)
    }
    await client.end().catch(() => {})
  }
  throw failure
}
