import { resolve } from 'node:path'
import { readAuthority } from '@svc/config/authority.ts'
import { readDirectDatabaseUrl, readNats } from '@svc/config/connections.ts'
import { type EnvReader, envReader } from '@svc/config/env-reader.ts'
import { urlHost } from '@svc/config/host.ts'
import type { NatsAccess } from '@svc/config/nats-access.ts'
import { LOOPBACK } from './engines/loopback.ts'
import { SERVICES, type ServiceName } from './topology.ts'

/**
 * The parts of the stack that a start includes. `no-gateway`: all services except the gateways, to look at a restored system before clients do. `engines`:
 * only Postgres and NATS, without tables, for `svc admin restore`.
 */
export type Part = 'all' | 'no-gateway' | 'engines'

export interface LocalConfig {
  part: Part
  /** An absolute path. */
  dataDir: string
  /** The address on which the gateways listen; loopback by default. */
  httpHost: string
  /** Port of the first gateway. Further gateways have the next ports. */
  httpPort: number
  authority: string
  /** Number of processes of each service. */
  replicas: Record<ServiceName, number>
  /** Replaces the embedded Postgres: the URL of a role that may create roles, with a database that is used for nothing else. */
  databaseUrl: string | undefined
  /** Replaces the embedded NATS. Every service uses this URL unchanged. */
  natsUrl: string | undefined
  /** Settings that the URL cannot hold. Every service gets the same variables. */
  natsAccess?: NatsAccess | undefined
  logLevel: string
  /** Replace the generated keys. Given as text, or in the files that `…_FILE` names. */
  challengeKey: string | undefined
  webhookSecretKey: string | undefined
  /** Connections of each process that has a store. */
  databasePool: number
  /** Metrics port of the first process. The others have the next ports. Undefined: no metrics. */
  metricsPort: number | undefined
}

const LEVELS = /^(trace|debug|info|warn|error|fatal|silent)$/
const MAX_REPLICAS = 16

/** @throws ConfigError that names every invalid variable. */
export function readConfig(env: NodeJS.ProcessEnv, part: Part = 'all'): LocalConfig {
  const e = envReader(env)
  const httpPort = e.int('SVC_HTTP_PORT', { default: 8080, min: 1, max: 65_535 })
  const config: LocalConfig = {
    part,
    dataDir: resolve(e.string('SVC_DATA_DIR', { default: '.data' })),
    httpHost: e.string('SVC_HTTP_HOST', { default: LOOPBACK }),
    httpPort,
    authority: readAuthority(e, `${urlHost(LOOPBACK)}:${httpPort}`),
    challengeKey: readOwnKey(e, 'SVC_CHALLENGE_KEY'),
    webhookSecretKey: readOwnKey(e, 'SVC_WEBHOOK_SECRET_KEY'),
    replicas: replicasOf(part, readReplicas(e)),
    databaseUrl: e.optional('SVC_DATABASE_URL') === undefined ? undefined : readDirectDatabaseUrl(e),
    ...(e.optional('SVC_NATS_URL') === undefined ? { natsUrl: undefined } : readNats(e)),
    logLevel: e.string('SVC_LOG_LEVEL', {
      default: 'info',
      pattern: LEVELS,
      hint: 'must be trace, debug, info, warn, error, fatal or silent',
    }),
    databasePool: e.int('SVC_DATABASE_POOL', { default: 8, min: 1, max: 100 }),
    metricsPort:
      e.optional('SVC_METRICS_PORT') === undefined ? undefined : e.int('SVC_METRICS_PORT', { min: 1, max: 65_535 }),
  }
  if (httpPort + Math.max(1, config.replicas.gateway) - 1 > 65_535)
    e.fail('SVC_HTTP_PORT', 'leaves no ports for the other gateways')
  const processes = Object.values(config.replicas).reduce((sum, count) => sum + count, 0)
  if ((config.metricsPort ?? 0) + processes - 1 > 65_535)
    e.fail('SVC_METRICS_PORT', 'leaves no ports for the other processes')
  e.check()
  return config
}

function replicasOf(part: Part, replicas: Record<ServiceName, number>): Record<ServiceName, number> {
  if (part === 'all') return replicas
  const none = SERVICES.filter((service) => part === 'engines' || service === 'gateway').map((service) => [service, 0])
  return { ...replicas, ...Object.fromEntries(none) }
}

/** Reads an optional key from the environment. The service that gets the key checks its content. */
function readOwnKey(e: EnvReader, name: string): string | undefined {
  const given = [name, `${name}_FILE`].some((variable) => e.optional(variable) !== undefined)
  return given ? e.secret(name) : undefined
}

/** Parses `messaging:2,gateway:2`. A service that is not named has one process. */
function readReplicas(e: EnvReader): Record<ServiceName, number> {
  const replicas = Object.fromEntries(SERVICES.map((service) => [service, 1])) as Record<ServiceName, number>
  for (const entry of e.list('SVC_REPLICAS')) {
    const [, name, digits] = /^([a-z]+):(\d+)$/.exec(entry) ?? []
    const service = SERVICES.find((one) => one === name)
    const count = Number(digits)
    if (service === undefined)
      e.fail('SVC_REPLICAS', `has "${entry}": write <service>:<count>, of ${SERVICES.join(', ')}`)
    else if (count < 1 || count > MAX_REPLICAS)
      e.fail('SVC_REPLICAS', `allows 1 to ${MAX_REPLICAS} processes of ${service}`)
    else replicas[service] = count
  }
  return replicas
}
