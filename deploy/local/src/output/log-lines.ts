/** Turns the JSON log lines of services (pino) into readable lines: time, process, level, message, a few fields. */

export interface LogEvent {
  /** Epoch milliseconds. */
  readonly timeMs: number
  /** The levels of pino: 30 info, 40 warn, 50 error, 60 fatal. */
  readonly level: number
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

const LEVELS = [
  { from: 60, name: 'FATAL', colour: '\x1b[1;31m' },
  { from: 50, name: 'ERROR', colour: '\x1b[1;31m' },
  { from: 40, name: 'WARN', colour: '\x1b[33m' },
  { from: 30, name: 'info', colour: '' },
  { from: 20, name: 'debug', colour: '\x1b[2m' },
  { from: 0, name: 'trace', colour: '\x1b[2m' },
]
const RESET = '\x1b[0m'
const DIM = '\x1b[2m'
/** Fields that every line of a service has. They are left out. */
const COMMON = new Set(['level', 'time', 'pid', 'hostname', 'name', 'service', 'msg', 'v'])
const MAX_VALUE_LENGTH = 200
const NAME_WIDTH = 12

/** Parses a line. A line that is not from pino becomes a warning: services print nothing else, so it comes from Node or from a bug. */
export function parseLogLine(line: string, nowMs: number): LogEvent {
  const record = parseObject(line)
  if (record === undefined || typeof record.level !== 'number') {
    return { timeMs: nowMs, level: 40, message: line, fields: {} }
  }
  const timeMs = typeof record.time === 'string' ? Date.parse(record.time) : Number(record.time)
  const fields = Object.fromEntries(Object.entries(record).filter(([key]) => !COMMON.has(key)))
  const message = typeof record.msg === 'string' ? record.msg : ''
  return { timeMs: Number.isFinite(timeMs) ? timeMs : nowMs, level: record.level, message, fields }
}

/** `12:30:56.123 gateway-1    info  ready port=8080`, in local time. Replaces control characters. */
export function formatLogEvent(process: string, { timeMs, level, message, fields }: LogEvent, colour: boolean): string {
  const { name, colour: start } = LEVELS.find(({ from }) => level >= from) ?? { name: 'trace', colour: '' }
  const details = Object.entries(fields).map(([key, value]) => `${key}=${formatValue(value)}`)
  const head = `${formatTime(timeMs)} ${process.padEnd(NAME_WIDTH)} `
  const body = printable(`${name.padEnd(5)} ${message}`)
  const tail = details.length === 0 ? '' : ` ${printable(details.join(' '))}`
  if (!colour) return head + body + tail
  return `${DIM}${head}${RESET}${start}${body}${start === '' ? '' : RESET}${DIM}${tail}${RESET}`
}

function formatTime(timeMs: number): string {
  const time = new Date(timeMs)
  const two = (value: number): string => String(value).padStart(2, '0')
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')
  return `${clock}.${String(time.getMilliseconds()).padStart(3, '0')}`
}

function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (describeError(value) ?? JSON.stringify(value) ?? '')
  const short = text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text
  return /[\s"=]/.test(short) ? JSON.stringify(short) : short
}

/** Renders an error that pino serialized: its message, which includes those of its causes, without the stack. */
function describeError(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('message' in value) || !('stack' in value)) return undefined
  return String(value.message)
}

function parseObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal
  return text.replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
}
