import { pino } from 'pino'

/** Structured log lines on stdout. Never log agent ids, nonces, secrets or bodies (ADR 22). */
export type Logger = pino.Logger

/** @param level from which on lines are written; a service's is `SVC_LOG_LEVEL` (libs/config, process.ts). */
export function createLogger(service: string, level: pino.LevelWithSilent = 'info'): Logger {
  return pino({
    name: service,
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
  })
}

/** An error for the log: its own text and those of its causes, and its code. */
export interface DescribedError {
  readonly type: string
  readonly message: string
  readonly stack: string
  readonly code?: string
}

/**
 * Errors carry what they met: Postgres's detail has the whole row, JSON.parse quotes what it could not read. What is somebody's
 * is left out, here rather than where an error is logged, since that does not know which one it has.
 */
export function describeError(error: Error): DescribedError {
  const { type, message, stack, code } = pino.stdSerializers.err(error)
  const described = { type, message: withoutQuotations(message), stack: withoutQuotations(stack) }
  return typeof code === 'string' ? { ...described, code } : described
}

function withoutQuotations(text: string): string {
  return text
    .replace(/(?:\.{3})?"[^\n]*"(?:\.{3})? is not valid JSON/g, '… is not valid JSON')
    .replace(/(invalid input (?:syntax|value) for [^:\n]+): "[^\n]*"/g, '$1')
}
