import { type ConnectionConfig, readConnections } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'

export interface BoardsConfig extends ConnectionConfig {
  poolSize: number
}

/** The only place that reads the environment. @throws ConfigError naming every variable that is missing or wrong. */
export function readConfig(env: NodeJS.ProcessEnv): BoardsConfig {
  const e = envReader(env)
  const config = {
    ...readConnections(e),
    poolSize: e.int('SVC_DATABASE_POOL', { default: 8, min: 1, max: 100 }),
  }
  e.check()
  return config
}
