import { type ConnectionConfig, readConnections } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { DEFAULTS } from '@svc/contracts/limits.ts'
import type { Allowances } from './domain/allowances.ts'

export interface BudgetConfig extends ConnectionConfig {
  /** Set the same values in every process, because each process decides by its own values. */
  allowances: Allowances
  poolSize: number
}

const MAX_DAILY = 1_000_000_000

/** The only reader of the environment. @throws ConfigError naming every variable that is missing or wrong. */
export function readConfig(env: NodeJS.ProcessEnv): BudgetConfig {
  const e = envReader(env)
  const daily = (name: string, standard: number): number => e.int(name, { default: standard, min: 0, max: MAX_DAILY })
  const config = {
    ...readConnections(e),
    allowances: {
      freeUnits: daily('SVC_DAILY_FREE_UNITS', DEFAULTS.dailyFreeUnits),
      hardLimit: daily('SVC_DAILY_HARD_LIMIT', DEFAULTS.dailyHardLimit),
      introductions: daily('SVC_DAILY_INTRODUCTIONS', DEFAULTS.dailyIntroductions),
    },
    poolSize: e.int('SVC_DATABASE_POOL', { default: 8, min: 1, max: 100 }),
  }
  e.check()
  return config
}
