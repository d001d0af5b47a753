import { type ConnectionConfig, readConnections, readStreamManagement } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { DEFAULTS } from '@svc/contracts/limits.ts'
import type { StreamManagement } from '@svc/nats/streams/managed-streams.ts'
import { DEFAULT_STREAM_BOUNDS, type StreamBounds } from '@svc/nats/streams/streams.ts'

export interface MessagingConfig extends ConnectionConfig {
  /** How long messages and events are kept. Tests of expiry set a fraction of a day. */
  retentionDays: number
  poolSize: number
  /** Copies of the stream `ACCEPTED`: 1 on one NATS server, 3 in a cluster. */
  streamReplicas: number
  streamBounds: StreamBounds
  streamManagement: StreamManagement
}

/** Enough for a few messages of the largest size. Only tests use so small a stream. */
const MIN_STREAM_BYTES = 1024 ** 2

/** The only reader of the environment. @throws ConfigError naming every variable that is missing or wrong. */
export function readConfig(env: NodeJS.ProcessEnv): MessagingConfig {
  const e = envReader(env)
  const config = {
    ...readConnections(e),
    retentionDays: e.number('SVC_RETENTION_DAYS', { default: DEFAULTS.retentionDays, min: 0.000_01, max: 3_650 }),
    poolSize: e.int('SVC_DATABASE_POOL', { default: 8, min: 1, max: 100 }),
    streamReplicas: e.int('SVC_NATS_REPLICAS', { default: 1, min: 1, max: 5 }),
    streamBounds: {
      maxBytes: e.int('SVC_STREAM_MAX_BYTES', {
        default: DEFAULT_STREAM_BOUNDS.maxBytes,
        min: MIN_STREAM_BYTES,
        max: Number.MAX_SAFE_INTEGER,
      }),
      keepSeconds: e.number('SVC_STREAM_SECONDS', {
        default: DEFAULT_STREAM_BOUNDS.keepSeconds,
        min: 1,
        max: DEFAULT_STREAM_BOUNDS.keepSeconds,
      }),
    },
    streamManagement: readStreamManagement(e),
  }
  e.check()
  return config
}
