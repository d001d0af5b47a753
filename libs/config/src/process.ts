import type { EnvReader } from './env-reader.ts'

/** What every process has besides its work: a log, and a port for those who watch over it. */
export interface ProcessConfig {
  logLevel: LogLevel
  /** Where metrics and probes are answered (libs/telemetry, process-server.ts); undefined: nowhere. */
  metrics: { host: string; port: number } | undefined
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Mistakes are kept for the reader's `check()`. */
export function readProcess(env: EnvReader): ProcessConfig {
  const level = env.string('SVC_LOG_LEVEL', { default: 'info' })
  const logLevel = LOG_LEVELS.find((one) => one === level)
  if (logLevel === undefined) env.fail('SVC_LOG_LEVEL', `must be one of ${LOG_LEVELS.join(', ')}`)
  // Loopback by default, as the gateway: a container, whose network is its own, says `0.0.0.0` or `::`.
  const host = env.string('SVC_METRICS_HOST', { default: '127.0.0.1' })
  const port =
    env.optional('SVC_METRICS_PORT') === undefined ? undefined : env.int('SVC_METRICS_PORT', { min: 0, max: 65_535 })
  return { logLevel: logLevel ?? 'info', metrics: port === undefined ? undefined : { host, port } }
}
