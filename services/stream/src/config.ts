import { type ConnectionConfig, readConnections } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { DEFAULTS } from '@svc/contracts/limits.ts'

export interface StreamConfig extends ConnectionConfig {
  poolSize: number
  host: string
  /** 0 means any free port. */
  port: number
  /** Gateways fetch streams from `http://<advertisedHost>:<advertisedPort>`. */
  advertisedHost: string
  /** 0 means the port on which the process listens. */
  advertisedPort: number
  streamsPerProcess: number
  /** A stream is closed after this time, and the client reconnects. */
  maxSeconds: number
  /** Seconds of silence after which a `cursor` frame is sent. */
  heartbeatSeconds: number
}

/** The default of `heartbeatSeconds` (spec 9.7). */
const HEARTBEAT_SECONDS = 15
const WILDCARDS = ['0.0.0.0', '::']

/** The only place that reads the environment. @throws ConfigError naming every variable that is missing or wrong. */
export function readConfig(env: NodeJS.ProcessEnv): StreamConfig {
  const e = envReader(env)
  const host = e.string('SVC_STREAM_HOST', { default: '127.0.0.1' })
  const config = {
    ...readConnections(e),
    poolSize: e.int('SVC_DATABASE_POOL', { default: 4, min: 1, max: 100 }),
    host,
    port: e.int('SVC_STREAM_PORT', { default: 0, min: 0, max: 65_535 }),
    advertisedHost: e.string('SVC_STREAM_ADVERTISED_HOST', {
      default: host,
      pattern: /^[^/]+$/,
      hint: 'must be a host alone, without a scheme: gateways fetch streams over http://',
    }),
    advertisedPort: e.int('SVC_STREAM_ADVERTISED_PORT', { default: 0, min: 0, max: 65_535 }),
    streamsPerProcess: e.int('SVC_STREAMS_PER_PROCESS', { default: DEFAULTS.streamsPerProcess, min: 1, max: 10_000 }),
    maxSeconds: e.int('SVC_STREAM_MAX_SECONDS', { default: DEFAULTS.streamSeconds, min: 1, max: 86_400 }),
    // At most 55, because most load balancers drop a connection that is silent for a minute.
    heartbeatSeconds: e.int('SVC_STREAM_HEARTBEAT_SECONDS', {
      default: HEARTBEAT_SECONDS,
      min: 1,
      max: 55,
    }),
  }
  if (WILDCARDS.includes(config.advertisedHost))
    e.fail(
      'SVC_STREAM_ADVERTISED_HOST',
      'must be set to a host that gateways can reach, because SVC_STREAM_HOST is a wildcard',
    )
  e.check()
  return config
}
