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
  return { natsUrl: env.secret('SVC_NATS_URL'), databaseUrl: env.secret('SVC_DATABASE_URL'), process: readProcess(env) }
}
