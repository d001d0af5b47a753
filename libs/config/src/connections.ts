import type { EnvReader } from './env-reader.ts'
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
  return { natsUrl: readNatsUrl(env), databaseUrl: readUrl(env, 'SVC_DATABASE_URL'), process: readProcess(env) }
}

/** One or several, separated by commas; the first has the login. */
export function readNatsUrl(env: EnvReader): string {
  return readUrl(env, 'SVC_NATS_URL', ',')
}

/** What cannot be read as a URL is said here: whoever met it later would print it, and the password in it. */
function readUrl(env: EnvReader, name: string, separator?: string): string {
  const text = env.secret(name)
  const parts = separator === undefined ? [text] : text.split(separator)
  if (text !== '' && !parts.every((part) => URL.canParse(part))) env.fail(name, 'is not a URL: check what is escaped')
  return text
}
