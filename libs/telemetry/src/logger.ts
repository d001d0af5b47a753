import { pino } from 'pino'
import { nameSources } from './source-names.ts'

/** Structured log lines on stdout. Never log agent ids, nonces, secrets or bodies (ADR 22). */
export type Logger = pino.Logger

/** @param level The lowest level that is written; for a service, `SVC_LOG_LEVEL` (libs/config, process.ts). */
export function createLogger(service: string, level: pino.LevelWithSilent = 'info'): Logger {
  return pino({
    name: service,
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
  })
}

/** An error as logged: its code, its own text and the texts of its causes. Of a ServiceError, the code is the text. */
interface DescribedError {
  readonly type: string
  readonly message: string
  readonly stack: string
  readonly code?: string
}

/**
 * Errors can contain user data: Postgres's detail has the whole row, and JSON.parse quotes the text that it could not read.
 * The data is removed here, because code that logs an error does not know what kind of error it is.
 */
export function describeError(error: Error): DescribedError {
  const { type, code } = pino.stdSerializers.err(error)
  const chain = causesOf(error)
  const message = chain.map(textOf).join(': ')
  const stack = chain.map(stackOf).join('\ncaused by: ')
  const described = { type, message: withoutQuotations(message), stack: nameSources(withoutQuotations(stack)) }
  return typeof code === 'string' ? { ...described, code } : described
}

/** @returns the error, its cause, the cause of that, and so on. */
function causesOf(error: Error): Error[] {
  const chain: Error[] = []
  for (let next: unknown = error; next instanceof Error && !chain.includes(next); next = next.cause) chain.push(next)
  return chain
}

/** A ServiceError's text tells a client what to do. An operator needs its code, and the causes say the rest. */
function textOf(error: Error): string {
  return error.name === 'ServiceError' && 'code' in error ? String(error.code) : error.message
}

function stackOf(error: Error): string {
  return (error.stack ?? '').replace(error.message, () => textOf(error))
}

function withoutQuotations(text: string): string {
  return text
    .replace(/(?:\.{3})?"[^\n]*"(?:\.{3})? is not valid JSON/g, '… is not valid JSON')
    .replace(/(invalid input (?:syntax|value) for [^:\n]+): "[^\n]*"/g, '$1')
}
