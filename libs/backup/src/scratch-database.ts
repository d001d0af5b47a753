import { randomBytes } from 'node:crypto'
import { changeDatabaseUrl } from '@svc/config/database-url.ts'
import { connectClient } from '@svc/postgres/connection/client.ts'
import { parseServer } from '@svc/postgres/connection/server.ts'
import type { Client } from 'pg'
import { BackupError } from './backup-error.ts'
import { quote } from './catalog.ts'

const PREFIX = 'svc_drill_'

/**
 * Gives `work` the URL of an empty database on the same server, and drops it in the end. First it drops those that killed drills
 * have left.
 * @throws BackupError if another drill is at work on the server.
 */
export async function withScratchDatabase<T>(url: string, work: (url: string) => Promise<T>): Promise<T> {
  const client = await connectClient(parseServer(url), 'svc-drill')
  try {
    await lockOut(client)
    await dropLeftovers(client)
    const name = `${PREFIX}${randomBytes(6).toString('hex')}`
    await client.query(`create database ${quote(name)} template template0 encoding 'UTF8'`)
    try {
      return await work(changeDatabaseUrl(url, { database: name }))
    } finally {
      await client.query(`drop database if exists ${quote(name)} with (force)`)
    }
  } finally {
    await client.end().catch(() => {})
  }
}

async function lockOut(client: Client): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(
    `select pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended('svc.drill', 0)) as taken`,
  )
  if (rows[0]?.taken !== true) throw new BackupError('another drill is at work on this server: wait for its end')
}

/** The lock is ours, so no drill uses them. */
async function dropLeftovers(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select datname as name from pg_catalog.pg_database where pg_catalog.starts_with(datname, $1)',
    [PREFIX],
  )
  for (const { name } of rows) await client.query(`drop database if exists ${quote(name)} with (force)`)
}
