import { parseDatabaseUrl } from './database-url.ts'
import type { EnvReader } from './env-reader.ts'
import { parseNatsUrl } from './nats-url.ts'
import { type ProcessConfig, readProcess } from './process.ts'

/** What every service with a store connects to. Each URL is a secret: it may also come from the file that `<name>_FILE` names. */
export interface ConnectionConfig {
  natsUrl: string
  databaseUrl: string
  /** Absent where there is no process of its own: a log from `info` up, and no listener. */
  process?: ProcessConfig
}

/** Mistakes are kept for the reader's `check()`. */
export function readConnections(env: EnvReader): ConnectionConfig {
  return { natsUrl: readNatsUrl(env), databaseUrl: readDatabaseUrl(env), process: readProcess(env) }
}

export function readNatsUrl(env: EnvReader): string {
  return readUrl(env, 'SVC_NATS_URL', parseNatsUrl)
}

export function readDatabaseUrl(env: EnvReader): string {
  return readUrl(env, 'SVC_DATABASE_URL', parseDatabaseUrl)
}

/** A URL that asks for what it would not get is refused here, before anything is sent to anybody. */
function readUrl(env: EnvReader, name: string, parse: (text: string) => unknown): string {
  const text = env.secret(name)
  try {
    if (text !== '') parse(text)
  } catch (error) {
    env.fail(name, error instanceof Error ? error.message : String(error))
  }
  return text
}
