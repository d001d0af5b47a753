import type { EnvReader } from './env-reader.ts'

/** Trace settings that the exporter does not read by itself (libs/telemetry, otel.ts). */
export interface TracingConfig {
  /** The share of requests that are traced, from 0 to 1. */
  ratio: number
  /** The longest time until spans are sent. */
  delayMs: number
}

/** Settings that every process has: a log, and a port for metrics and probes. */
export interface ProcessConfig {
  logLevel: LogLevel
  /** The address of metrics and probes (libs/telemetry, process-server.ts); undefined if they are not served. */
  metrics: { host: string; port: number } | undefined
  /** Undefined if traces are off. */
  tracing?: TracingConfig | undefined
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

/** Collects mistakes for the reader's `check()`. */
export function readProcess(env: EnvReader): ProcessConfig {
  const level = env.string('SVC_LOG_LEVEL', { default: 'info' })
  const logLevel = LOG_LEVELS.find((one) => one === level)
  if (logLevel === undefined) env.fail('SVC_LOG_LEVEL', `must be one of ${LOG_LEVELS.join(', ')}`)
  // Loopback by default, as in the gateway. In a container, which has its own network, set `::` (host.ts).
  const host = env.string('SVC_METRICS_HOST', { default: '127.0.0.1' })
  const port =
    env.optional('SVC_METRICS_PORT') === undefined ? undefined : env.int('SVC_METRICS_PORT', { min: 0, max: 65_535 })
  return {
    logLevel: logLevel ?? 'info',
    metrics: port === undefined ? undefined : { host, port },
    tracing: readTracing(env),
  }
}

/** The first of these variables that is set is used. */
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT']
const SAMPLER = /^(parentbased_)?(always_on|always_off|traceidratio)$/

/**
 * Reads the standard variables of OpenTelemetry. Setting an endpoint turns traces on. Traces start only in the gateway,
 * so the samplers with and without `parentbased_` are equivalent.
 */
function readTracing(env: EnvReader): TracingConfig | undefined {
  const name = ENDPOINTS.find((one) => env.optional(one) !== undefined)
  const isOff = env.optional('OTEL_SDK_DISABLED') === 'true' || env.optional('OTEL_TRACES_EXPORTER') === 'none'
  if (name === undefined || isOff) return undefined
  // Without this check, the exporter would silently replace an invalid URL by http://localhost:4318.
  if (!isHttpUrl(env.optional(name) ?? '')) env.fail(name, 'must begin with https://, or http:// without TLS')
  const sampler = env.string('OTEL_TRACES_SAMPLER', { default: 'parentbased_always_on', pattern: SAMPLER })
  const ratio = sampler.endsWith('traceidratio')
    ? env.number('OTEL_TRACES_SAMPLER_ARG', { default: 1, min: 0, max: 1 })
    : 1
  return {
    ratio: sampler.endsWith('always_off') ? 0 : ratio,
    delayMs: env.int('OTEL_BSP_SCHEDULE_DELAY', { default: 5_000, min: 0, max: 600_000 }),
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol)
}
