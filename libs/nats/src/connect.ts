import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount, defineLevel } from '@svc/telemetry/metrics.ts'
import { connect, ErrorCode, type NatsConnection, NatsError } from 'nats'

const connected = defineLevel({
  name: 'svc_nats_connected',
  help: '1 where the connection to NATS is there, 0 where it is lost',
  labels: [],
})
const disconnects = defineCount({
  name: 'svc_nats_disconnects_total',
  help: 'How often the connection to NATS was lost',
  labels: [],
})

export interface NatsOptions {
  /** `nats://user:password@host:port`, several separated by commas. */
  url: string
  /** Shown by `nats server report connections`. */
  name: string
  logger: Logger
  /** For tools that somebody waits for: gives up after so long where nobody listens, and where the login is refused. Services wait, the default. */
  firstConnectMs?: number
}

/** A connection, and where its own answers come in. */
export interface Nats {
  readonly connection: NatsConnection
  readonly inboxPrefix: string
  /** Whether the server is there now, as far as this end knows. */
  isConnected(): boolean
}

/** A server that does not answer in so long is tried again, or another one. */
const ATTEMPT_MS = 3_000
/** The third one that is due finds the link silent. Until then every call over it runs into its deadline. */
const PING_INTERVAL_MS = 3_000

/**
 * Connects with settings that survive outages (field notes 2.2): reconnects for ever, notices a half-open link within
 * nine seconds, and waits for the first connection. The inbox prefix is `_INBOX_<user>`, so that a server can
 * let each user receive its own answers alone; a second login, `<user>_b`, has the user's inbox (deploy/nats/users.conf).
 */
export async function connectNats({ url, name, logger, firstConnectMs }: NatsOptions): Promise<Nats> {
  const servers = url.split(',').map((part) => new URL(part))
  const user = decodeURIComponent(servers[0]?.username ?? '')
  const inboxPrefix = user === '' ? '_INBOX' : `_INBOX_${user.replace(/_b$/, '')}`
  const connection = await connect({
    servers: servers.map((server) => server.host),
    name,
    ...(user === '' ? {} : { user, pass: decodeURIComponent(servers[0]?.password ?? '') }),
    inboxPrefix,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    ...(firstConnectMs === undefined ? { waitOnFirstConnect: true, timeout: ATTEMPT_MS } : { timeout: firstConnectMs }),
    // A server that restarts may refuse a login for a moment; to somebody who waits it is said at once.
    ignoreAuthErrorAbort: firstConnectMs === undefined,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
  })
  let lost = false
  void watchStatus(connection, logger, (isLost) => {
    lost = isLost
  })
  const isConnected = (): boolean => !lost && !connection.isClosed()
  const level = connected.read(() => [[{}, isConnected() ? 1 : 0]])
  void connection.closed().then(() => level[Symbol.dispose]())
  return { connection, inboxPrefix, isConnected }
}

/** Whether this is why `connectNats` gave up. */
export function isLoginRefused(error: unknown): boolean {
  return error instanceof NatsError && error.code === ErrorCode.AuthorizationViolation
}

async function watchStatus(
  connection: NatsConnection,
  logger: Logger,
  changed: (isLost: boolean) => void,
): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect') {
      changed(true)
      disconnects.add({})
    } else if (status.type === 'reconnect') changed(false)
    if (status.type === 'disconnect' || status.type === 'error')
      logger.warn({ event: status.type, data: status.data }, 'nats')
    else if (status.type === 'reconnect') logger.info({ event: status.type }, 'nats')
  }
}

/** Drains for `limitMs` at most: a busy consumer can hold a drain for ever (field notes 2.2). */
export async function drainNats({ connection }: Nats, limitMs = 5_000): Promise<void> {
  if (connection.isClosed()) return
  const limit = Promise.withResolvers<void>()
  const timer = setTimeout(limit.resolve, limitMs)
  await Promise.race([connection.drain().catch(() => {}), limit.promise])
  clearTimeout(timer)
  await connection.close()
}
