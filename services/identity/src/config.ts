import { readAuthority } from '@svc/config/authority.ts'
import { type ConnectionConfig, readConnections } from '@svc/config/connections.ts'
import { type EnvReader, envReader } from '@svc/config/env-reader.ts'
import { DEFAULTS } from '@svc/contracts/limits.ts'

export interface IdentityConfig extends ConnectionConfig {
  /** The public authority, the part of every address after `@`. */
  authority: string
  /** Leading zero bits that new challenges ask for. */
  powDifficulty: number
  /** Authenticate challenges: the first makes new ones, all are believed. */
  challengeKeys: string[]
  poolSize: number
}

/** 256 bits of hex have 64 characters, of base64 43; half of that is the least that is not a mistake. */
const MIN_KEY_LENGTH = 32

/** The only reader of the environment. @throws ConfigError naming every variable that is missing or wrong. */
export function readConfig(env: NodeJS.ProcessEnv): IdentityConfig {
  const e = envReader(env)
  const config = {
    ...readConnections(e),
    authority: readAuthority(e),
    powDifficulty: e.int('SVC_POW_DIFFICULTY', { default: DEFAULTS.powDifficulty, min: 0, max: 64 }),
    challengeKeys: readKeys(e, 'SVC_CHALLENGE_KEY'),
    poolSize: e.int('SVC_DATABASE_POOL', { default: 8, min: 1, max: 100 }),
  }
  e.check()
  return config
}

/** Several keys are separated by commas, the new one first, while one is replaced by another. */
function readKeys(e: EnvReader, name: string): string[] {
  const keys = e
    .secret(name, { minLength: MIN_KEY_LENGTH })
    .split(',')
    .map((key) => key.trim())
  if (keys.length > 1 && keys.some((key) => key.length < MIN_KEY_LENGTH)) {
    e.fail(name, `must have at least ${MIN_KEY_LENGTH} characters in each key`)
  }
  return keys
}
