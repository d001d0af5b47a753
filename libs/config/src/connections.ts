import type { EnvReader } from './env-reader.ts'

/** What every service with a store connects to. Each URL is a secret: it may also come from the file that `<name>_FILE` names. */
export interface ConnectionConfig {
  natsUrl: string
  databaseUrl: string
}

/** Mistakes are kept for the reader's `check()`. */
export function readConnections(env: EnvReader): ConnectionConfig {
  return { natsUrl: env.secret('SVC_NATS_URL'), databaseUrl: env.secret('SVC_DATABASE_URL') }
}
