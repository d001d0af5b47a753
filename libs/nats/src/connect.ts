import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { loginFileOf, type NatsAccess } from '@svc/config/nats-access.ts'
import { parseNatsUrl } from '@svc/config/nats-url.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount, defineLevel } from '@svc/telemetry/metrics.ts'
import { sayOnce } from '@svc/telemetry/problem-log.ts'
import { TlsError } from '@svc/tls/failure.ts'
import { type ConnectionOptions, connect, ErrorCode, type NatsConnection, NatsError } from 'nats'
import { contextFrom, loginFrom, ownerOf } from './connection/credentials.ts'
import { LoginWatch } from './connection/login-watch.ts'
import { drainWithin, MovingConnection } from './connection/moving-connection.ts'
import { explainReset, explainTls, tlsFor } from './connection/tls.ts'

const connected = defineLevel({
  name: 'agentmsg_nats_connected',
  help: '1 if the process is connected to NATS, otherwise 0',
  labels: [],
})
const disconnects = defineCount({
  name: 'agentmsg_nats_disconnects_total',
  help: 'How often the connection to NATS was lost',
  labels: [],
})

interface NatsOptions {
  /** `nats://user:password@host:port` or `tls://…`, several separated by commas (libs/config, nats-url.ts). */
  url: string
  /** The user, certificates and logins in files (libs/config, nats-access.ts). */
  access?: NatsAccess | undefined
  /** Shown by `nats server report connections`. */
  name: string
  logger: Logger
  /**
   * Connects as an operator: the user's name is the operator's. Its answers arrive at `_INBOX_admin.<callee>.<operator>.>`
   * instead of at an inbox of its own, because services may answer only to inboxes of callers that they know.
   */
  asOperator?: boolean
  /** For tools that a person waits for: give up if no server answers in this time, or if the login is refused. Default: wait. */
  firstConnectMs?: number
}

export interface Nats {
  readonly connection: NatsConnection
  /** `_INBOX_<user>`: where answers arrive (wire/inbox.ts). */
  readonly inboxPrefix: string
  /** `_INBOX_<user>.<user>`: where only JetStream and this user may publish. */
  readonly ownInbox: string
  /** The name of the operator. Undefined for a service. */
  readonly operator?: string | undefined
  /** Whether the connection is up, as far as this end knows. */
  isConnected(): boolean
}

/** If a server does not answer within this time, it or another server is tried. */
const ATTEMPT_MS = 3_000
/** A silent link is detected when the third ping is due. Until then every call over the link times out. */
const PING_INTERVAL_MS = 3_000

/** The pause between attempts to connect, plus a jitter of up to the same length, so that clients do not come all at once. */
const RETRY_MS = 250

/**
 * Connects with settings that survive outages (ADR 22): it reconnects for ever, detects a half-open link within nine seconds,
 * and waits for the first connection. The inbox prefix is `_INBOX_<user>`, so that a server can let each user receive only its
 * own answers. A second login, `<user>_b`, shares the inbox of the user (deploy/nats/users.conf).
 * @throws TypeError if the URL is invalid. ConfigError if a file cannot be used at the start. TlsError if TLS fails and `firstConnectMs` is given.
 */
export async function connectNats({
  url,
  access = { files: {} },
  name,
  logger,
  asOperator = false,
  firstConnectMs,
}: NatsOptions): Promise<Nats> {
  const { servers, password, tls, hosts, user: userOfUrl } = parseNatsUrl(url)
  const user = access.user ?? userOfUrl
  const owner = ownerOf(user)
  const { inboxPrefix, ownInbox } = asOperator ? inboxesOfOperator(owner) : inboxesOf(owner)
  const fail = sayOnce((text) => logger.error(text))
  const readLogin = loginFrom(access, user, fail)
  const logins = readLogin && new LoginWatch(readLogin)
  const options: ConnectionOptions = {
    servers: [...servers],
    name,
    ...(logins !== undefined
      ? { authenticator: logins.createAuthenticator() }
      : user === ''
        ? {}
        : { user, pass: password }),
    ...(tls ? { tls: tlsFor(hosts, contextFrom(access, fail)) } : {}),
    inboxPrefix: ownInbox,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    reconnectJitter: RETRY_MS,
    reconnectJitterTLS: RETRY_MS,
    timeout: firstConnectMs ?? ATTEMPT_MS,
    // A server that restarts may refuse a login for a moment, so services retry. A tool reports it at once.
    ignoreAuthErrorAbort: firstConnectMs === undefined,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
  }
  const explain: Explain = (error, server) =>
    explainTls(error, server) ?? (tls ? explainReset(error, server) : undefined)
  const loginFile = loginFileOf(access.files)
  const logFailure = failureLog({ logger, fail, explain, loginFile, userOf: () => logins?.user ?? user })
  const first =
    firstConnectMs === undefined ? await untilConnected(options, logFailure) : await connectOnce(options, explain)
  logins?.noteConnected()
  const connection =
    logins === undefined || firstConnectMs !== undefined
      ? first
      : followLogin(logins, first, { options, logger, fail, explain, loginFile })
  let lost = false
  void watchStatus(connection, logger, logFailure, (isLost) => {
    lost = isLost
    if (!isLost) logins?.noteConnected()
  })
  const isConnected = (): boolean => !lost && !connection.isClosed()
  const level = connected.read(() => [[{}, isConnected() ? 1 : 0]])
  void connection.closed().then(() => level[Symbol.dispose]())
  return { connection, inboxPrefix, ownInbox, operator: asOperator ? owner : undefined, isConnected }
}

function inboxesOf(owner: string): Pick<Nats, 'inboxPrefix' | 'ownInbox'> {
  if (owner === '') return { inboxPrefix: '_INBOX', ownInbox: '_INBOX' }
  return { inboxPrefix: `_INBOX_${owner}`, ownInbox: `_INBOX_${owner}.${owner}` }
}

function inboxesOfOperator(operator: string): Pick<Nats, 'inboxPrefix' | 'ownInbox'> {
  return { inboxPrefix: '_INBOX_admin', ownInbox: `_INBOX_admin.admin.${operator}` }
}

interface FollowedLogin extends Omit<FailureLogOptions, 'userOf'> {
  readonly options: ConnectionOptions
}

/** @returns a connection that moves to each new login of the file that the server accepts. */
function followLogin(
  logins: LoginWatch,
  first: NatsConnection,
  { options, logger, fail, ...failures }: FollowedLogin,
): NatsConnection {
  const moving = new MovingConnection(first)
  let user = ''
  const kept = (text: string): void => fail(`${text} Until then the process uses the login that it used before.`)
  const logFailure = failureLog({ logger, fail: kept, ...failures, userOf: () => user })
  void logins.follow(moving, {
    connect: (authenticator) => connectOrFail({ ...options, authenticator, ignoreAuthErrorAbort: false }),
    moved: (login) => logger.info({ user: login.user }, 'nats: uses the new login'),
    refused: (error, login) => {
      user = login.user
      logFailure(error, serversOf(options))
    },
  })
  return moving.view
}

/** @returns a sentence for the operator if TLS failed. */
type Explain = (error: unknown, server: string) => string | undefined

async function connectOnce(options: ConnectionOptions, explain: Explain): Promise<NatsConnection> {
  try {
    return await connectOrFail(options).catch((error: unknown) => {
      if (!isCut(error)) throw error
      return connectOrFail(options)
    })
  } catch (error) {
    const problem = explain(error, serversOf(options))
    throw problem === undefined ? error : new TlsError(problem, { cause: error })
  }
}

/** A server that refuses a login closes the connection, and sometimes the client notices that before it has read the reason. */
function isCut(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET')
}

/** The client could wait for its first connection by itself, but it does not report what it waits for. */
async function untilConnected(options: ConnectionOptions, logFailure: LogFailure): Promise<NatsConnection> {
  for (;;) {
    try {
      return await connectOrFail(options)
    } catch (error) {
      logFailure(error, serversOf(options))
      await sleep(RETRY_MS + randomInt(RETRY_MS))
    }
  }
}

/**
 * Tries only the servers of the URL, and connects for good when one of them has accepted a connection. The client gives up a
 * first connection when it has tried every server that it knows. In a cluster each attempt makes it learn all servers again.
 * So if every server refuses, the client would retry for ever and log nothing.
 */
async function connectOrFail(options: ConnectionOptions): Promise<NatsConnection> {
  const trial = await connect({ ...options, ignoreClusterUpdates: true })
  await trial.close()
  return await connect(options)
}

function serversOf({ servers }: ConnectionOptions): string {
  return [servers ?? []].flat().join(', ')
}

type LogFailure = (error: unknown, server: string) => void

interface FailureLogOptions {
  readonly logger: Logger
  readonly fail: (text: string) => void
  readonly explain: Explain
  /** The variable with the login, if the URL does not have it. */
  readonly loginFile: string | undefined
  /** The user that was refused. */
  readonly userOf: () => string
}

/** Logs each failure at most once a minute. TLS and login failures are errors, because retries cannot fix them. */
function failureLog({ logger, fail, explain, loginFile, userOf }: FailureLogOptions): LogFailure {
  const warn = sayOnce((text) => logger.warn(text))
  const advice = (): string =>
    loginFile === undefined
      ? 'SVC_NATS_URL: compare user and password'
      : `${loginFile}: compare it with the users of NATS (user ${userOf()})`
  return (error, server) => {
    const problem = explain(error, server)
    if (problem !== undefined) fail(problem)
    else if (isLoginRefused(error)) fail(`NATS at ${server} refuses the login in ${advice()}.`)
    else warn(`NATS at ${server} cannot be reached: ${error instanceof Error ? error.message : String(error)}.`)
  }
}

/** Whether `connectNats` gave up because the login was refused. */
export function isLoginRefused(error: unknown): boolean {
  return error instanceof NatsError && error.code === ErrorCode.AuthorizationViolation
}

async function watchStatus(
  connection: NatsConnection,
  logger: Logger,
  logFailure: LogFailure,
  changed: (isLost: boolean) => void,
): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect') {
      changed(true)
      disconnects.add({})
    } else if (status.type === 'reconnect') changed(false)
    if (status.error !== undefined) logFailure(status.error, String(status.data))
    else if (status.type === 'disconnect' || status.type === 'error')
      logger.warn({ event: status.type, data: status.data }, 'nats')
    else if (status.type === 'reconnect') logger.info({ event: status.type }, 'nats')
  }
}

export async function drainNats({ connection }: Nats, limitMs = 5_000): Promise<void> {
  await drainWithin(connection, limitMs)
}
