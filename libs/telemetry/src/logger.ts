import { pino } from 'pino'

/** Structured log lines on stdout. Never log agent ids, nonces, secrets or bodies (field notes 1.15). */
export type Logger = pino.Logger

/** @param level from which on lines are written; a service's is `SVC_LOG_LEVEL` (libs/config, process.ts). */
export function createLogger(service: string, level: pino.LevelWithSilent = 'info'): Logger {
  return pino({ name: service, level, base: { service, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime })
}
