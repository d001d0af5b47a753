import { pino } from 'pino'

/** Structured log lines on stdout. Never log agent ids, nonces, secrets or bodies (field notes 1.15). */
export type Logger = pino.Logger

export function createLogger(service: string, level: string = process.env.SVC_LOG_LEVEL ?? 'info'): Logger {
  return pino({ name: service, level, base: { service, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime })
}
