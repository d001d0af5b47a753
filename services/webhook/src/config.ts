import { type ConnectionConfig, readConnections, readStreamManagement } from '@svc/config/connections.ts'
import { type EnvReader, envReader } from '@svc/config/env-reader.ts'
import { DEFAULTS, LIMITS } from '@svc/contracts/limits.ts'
import type { StreamManagement } from '@svc/nats/streams/managed-streams.ts'
import type { ExemptTargets } from '@svc/outbound/webhook-url.ts'
import type { Backoff } from './domain/schedule.ts'

export interface WebhookConfig extends ConnectionConfig {
  poolSize: number
  backoff: Backoff
  /** Keys that encrypt secrets. The first seals; all of them open. */
  secretKeys: [string, ...string[]]
  /** HTTPS targets, `host:port`, that are exempt from the rule for addresses and ports. For tests only. */
  exemptTargets: ExemptTargets
  /** Maximum number of concurrent requests in this process. */
  concurrency: number
  /** Timeout of a whole attempt (spec 10.7). */
  attemptSeconds: number
  /**
   * A job of a worker that may have died becomes due again after this time. Longer than an attempt and the recording of
   * its outcome.
   */
  leaseSeconds: number
  /** Interval between two comparisons of the jobs with the logs. */
  reconcileSeconds: number
  streamManagement: StreamManagement
  /** Whether security events of agents are logged, with ids. */
  securityLog: boolean
}

/** 256 bits take 64 characters in hex and 43 in base64. A shorter key than this is surely a mistake. */
const MIN_KEY_LENGTH = 32
const DEFAULT_ATTEMPT_SECONDS = 10
/** Time to record an attempt after it has ended. */
const LEASE_MARGIN_SECONDS = 5
const MAX_BACKOFF_SECONDS = 7 * 24 * 60 * 60
const TARGET = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):[0-9]{1,5}$/

/** The only place that reads the environment. @throws ConfigError naming every variable that is missing or wrong. */
export function readConfig(env: NodeJS.ProcessEnv): WebhookConfig {
  const e = envReader(env)
  const attemptSeconds = e.number('SVC_WEBHOOK_ATTEMPT_SECONDS', {
    default: DEFAULT_ATTEMPT_SECONDS,
    min: 0.1,
    max: 60,
  })
  const config = {
    ...readConnections(e),
    poolSize: e.int('SVC_DATABASE_POOL', { default: 8, min: 1, max: 100 }),
    backoff: readBackoff(e, 'SVC_WEBHOOK_BACKOFF_SECONDS'),
    secretKeys: readKeys(e, 'SVC_WEBHOOK_SECRET_KEY'),
    exemptTargets: readTargets(e, 'SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS'),
    concurrency: e.int('SVC_WEBHOOK_CONCURRENCY', { default: 256, min: 2, max: 4_096 }),
    attemptSeconds,
    leaseSeconds: e.number('SVC_WEBHOOK_LEASE_SECONDS', {
      default: attemptSeconds + LEASE_MARGIN_SECONDS,
      min: attemptSeconds,
      max: 600,
    }),
    reconcileSeconds: e.number('SVC_WEBHOOK_RECONCILE_SECONDS', { default: 3, min: 0.1, max: 3_600 }),
    streamManagement: readStreamManagement(e),
    securityLog: e.flag('SVC_SECURITY_LOG', { default: false }),
  }
  e.check()
  return config
}

/** One entry per attempt, as many as the specification has (spec 10.7). */
function readBackoff(e: EnvReader, name: string): Backoff {
  const entries = e.string(name, { default: DEFAULTS.webhookBackoffSeconds }).split(',')
  const backoff = entries.map((entry) => (/^\s*\d+(\.\d+)?\s*$/.test(entry) ? Number(entry) : Number.NaN))
  if (backoff.length !== LIMITS.webhookAttempts || !backoff.every((seconds) => seconds <= MAX_BACKOFF_SECONDS)) {
    e.fail(name, `must be ${LIMITS.webhookAttempts} numbers of seconds, separated by commas`)
  }
  return backoff
}

/** During a key rotation the value holds several keys, separated by commas, the new one first. */
function readKeys(e: EnvReader, name: string): [string, ...string[]] {
  const [first = '', ...others] = e
    .secret(name, { minLength: MIN_KEY_LENGTH })
    .split(',')
    .map((key) => key.trim())
  if (others.length > 0 && [first, ...others].some((key) => key.length < MIN_KEY_LENGTH)) {
    e.fail(name, `must have at least ${MIN_KEY_LENGTH} characters in each key`)
  }
  return [first, ...others]
}

function readTargets(e: EnvReader, name: string): ExemptTargets {
  const targets = e.list(name).map((target) => target.toLowerCase())
  for (const target of targets) if (!TARGET.test(target)) e.fail(name, `has "${target}": write <host>:<port>`)
  return new Set(targets)
}
