import { parseDatabaseUrl } from './database-url.ts'
import type { EnvReader } from './env-reader.ts'
import { type NatsConfig, readNatsAccess } from './nats-access.ts'
import { parseNatsUrl } from './nats-url.ts'
import { type ProcessConfig, readProcess } from './process.ts'

/**
 * The connections of every service with a store. Each URL is a secret, so it may also come from the file that
 * `<name>_FILE` names.
 */
export interface ConnectionConfig extends NatsConfig {
  databaseUrl: string
  /** The file of the URL, if it is in one. Its user and password may change while the process runs. */
  databaseUrlFile?: string | undefined
  /** Undefined if the service does not run in its own process. The log then starts at `info`, and there is no listener. */
  process?: ProcessConfig
}

/** Collects mistakes for the reader's `check()`. */
export function readConnections(env: EnvReader): ConnectionConfig {
  const isInFile = env.optional('SVC_DATABASE_URL') === undefined
  return {
    ...readNats(env),
    databaseUrl: readDatabaseUrl(env),
    ...(isInFile ? { databaseUrlFile: env.optional('SVC_DATABASE_URL_FILE') } : {}),
    process: readProcess(env),
  }
}

/** The URL of NATS and the variables beside it. Collects mistakes for the reader's `check()`. */
export function readNats(env: EnvReader): NatsConfig {
  const natsUrl = readNatsUrl(env)
  return { natsUrl, natsAccess: readNatsAccess(env, natsUrl) }
}

/** `verify`: somebody else manages the stream and the consumer of JetStream, and the services only check them. */
export function readStreamManagement(env: EnvReader): 'create' | 'verify' {
  const text = env.string('SVC_NATS_STREAMS', {
    default: 'create',
    pattern: /^(create|verify)$/,
    hint: 'must be create or verify',
  })
  return text === 'verify' ? 'verify' : 'create'
}

function readNatsUrl(env: EnvReader): string {
  return readUrl(env, 'SVC_NATS_URL', parseNatsUrl)
}

export function readDatabaseUrl(env: EnvReader): string {
  return readUrl(env, 'SVC_DATABASE_URL', parseDatabaseUrl)
}

/** For work that holds locks and settings for its session: migrations, backups. */
export function readDirectDatabaseUrl(env: EnvReader): string {
  return readUrl(env, 'SVC_DATABASE_URL', (text) => {
    if (parseDatabaseUrl(text).isPooled)
      throw new TypeError(
        'leads to a pooler (pooler=transaction or pgbouncer=true), but this needs a URL of Postgres itself: write its host, without that parameter',
      )
  })
}

/** Refuses a URL with unsupported options here, before anything connects. */
function readUrl(env: EnvReader, name: string, parse: (text: string) => unknown): string {
  const text = env.secret(name)
  try {
    if (text !== '') parse(text)
  } catch (error) {
    env.fail(name, error instanceof Error ? error.message : String(error))
  }
  return text
}
