import { readAuthority } from '@svc/config/authority.ts'
import { type ConnectionConfig, readConnections } from '@svc/config/connections.ts'
import { type EnvReader, envReader } from '@svc/config/env-reader.ts'
import { isAgentName } from '@svc/contracts/ids.ts'
import { DEFAULTS } from '@svc/contracts/limits.ts'
import { DEFAULT_RESERVED_NAMES } from './domain/reserved-names.ts'

export interface IdentityConfig extends ConnectionConfig {
  /** The public authority, the part of every address after `@`. */
  authority: string
  /** Whether security events of agents are logged, with ids. */
  securityLog: boolean
  /** Names that nobody may register. */
  reservedNames: readonly string[]
  /** Leading zero bits that new challenges ask for. */
  powDifficulty: number
  /** Keys that authenticate challenges. The first makes new ones; a challenge made with any of them is accepted. */
  challengeKeys: string[]
  poolSize: number
}

/** 256 bits take 64 characters in hex and 43 in base64. A shorter key than this is surely a mistake. */
const MIN_KEY_LENGTH = 32

/** The only place that reads the environment. @throws ConfigError naming every variable that is missing or wrong. */
export function readConfig(env: NodeJS.ProcessEnv): IdentityConfig {
  const e = envReader(env)
  const config = {
    ...readConnections(e),
    authority: readAuthority(e),
    reservedNames: readReservedNames(e, 'SVC_RESERVED_NAMES'),
    securityLog: e.flag('SVC_SECURITY_LOG', { default: false }),
    powDifficulty: e.int('SVC_POW_DIFFICULTY', { default: DEFAULTS.powDifficulty, min: 0, max: 64 }),
    challengeKeys: readKeys(e, 'SVC_CHALLENGE_KEY'),
    poolSize: e.int('SVC_DATABASE_POOL', { default: 8, min: 1, max: 100 }),
  }
  e.check()
  return config
}

/** During a key rotation the value holds several keys, separated by commas, the new one first. */
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

/** The value replaces the default names, unless it contains `default`. The value `none` reserves no name. */
function readReservedNames(e: EnvReader, name: string): string[] {
  const listed = e.list(name)
  if (listed.length === 0) return [...DEFAULT_RESERVED_NAMES]
  if (listed.length === 1 && listed[0] === 'none') return []
  const own = listed.filter((entry) => entry !== 'default')
  const wrong = own.filter((entry) => entry === 'none' || !isAgentName(entry))
  if (wrong.length > 0) {
    e.fail(name, `must be none, or names and default, separated by commas; not a name: ${wrong.join(', ')}`)
  }
  return own.length === listed.length ? own : [...DEFAULT_RESERVED_NAMES, ...own]
}
