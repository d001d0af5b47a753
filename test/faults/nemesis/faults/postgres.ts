/** Faults inside the database. */
import postgres from 'postgres'
import { type Fault, HEALED } from '../fault.ts'

/** Ends every session of a service, as an operator or a failover would. */
export const endSessions: Fault = {
  name: 'end-sessions',
  target: 'postgres',
  holdMs: [0, 0],
  async inject({ adminUrl }, random) {
    const role = random.pick(['identity', 'messaging', 'boards', 'budget', 'webhook', 'stream'])
    const sql = postgres(adminUrl, { max: 1, connect_timeout: 2, onnotice: () => {} })
    try {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`
    } finally {
      await sql.end({ timeout: 2 })
    }
    return { detail: role, heal: HEALED }
  },
}

/** Locks a table, so that all connections of a service's pools wait for it. */
export const exhaustPool: Fault = {
  name: 'exhaust-pool',
  target: 'postgres',
  holdMs: [500, 6_000],
  async inject({ adminUrl }, random) {
    const table = random.pick([
      'messaging.logs',
      'messaging.messages',
      'budget.accounts',
      'budget.reservations',
      'identity.agents',
      'boards.memberships',
      'webhook.jobs',
    ])
    const sql = postgres(adminUrl, { max: 1, connect_timeout: 2, onnotice: () => {} })
    const over = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const done = sql
      .begin(async (tx) => {
        await tx.unsafe(`set local lock_timeout = '2s'`)
        await tx.unsafe(`lock table ${table} in access exclusive mode`)
        held.resolve()
        await over.promise
      })
      .catch((error: unknown) => held.reject(error))
      .finally(() => sql.end({ timeout: 2 }))
    await held.promise
    return {
      detail: table,
      async heal() {
        over.resolve()
        await done
      },
    }
  },
}

/** Uses up all connections. Services keep their connections, but cannot open new ones. */
export const exhaustConnections: Fault = {
  name: 'exhaust-connections',
  target: 'postgres',
  holdMs: [500, 5_000],
  async inject(system, random) {
    const url = system.roleUrl('stream')
    const name = random.pick(system.names)
    const sql = postgres(url, { max: 250, connect_timeout: 2, onnotice: () => {} })
    const close = (): Promise<void> => sql.end({ timeout: 0 })
    // opens as many as the server allows; the server refuses the rest
    await Promise.allSettled(Array.from({ length: 250 }, () => sql`select pg_sleep(0.2)`))
    await system.end(name, 'SIGKILL').catch(() => {})
    return { detail: `and ${name} starts again`, heal: close }
  },
}
