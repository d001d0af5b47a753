/** Formats values for people. These functions need not escape anything, because all output passes `visibleText`. */
import type { Agent, BoardDetails, Message } from '@svc/contracts/resources.ts'

/** `2026-11-20T12:00:05Z`. */
export function time(unixSeconds: number): string {
  const date = new Date(unixSeconds * 1000)
  return Number.isNaN(date.getTime()) ? String(unixSeconds) : `${date.toISOString().slice(0, 19)}Z`
}

/** `3 h 12 min`, `45 s`. */
export function duration(seconds: number): string {
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `512 bytes`, `1.5 MiB`. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} bytes`
  const [unit, name] = count < 2 ** 20 ? [2 ** 10, 'KiB'] : count < 2 ** 30 ? [2 ** 20, 'MiB'] : [2 ** 30, 'GiB']
  return `${(count / unit).toFixed(1)} ${name}`
}

/** The first characters of an agent id. They distinguish the agents on a screen, but are not enough to identify one. */
export function shortId(agentId: string): string {
  return agentId.length > 12 ? `${agentId.slice(0, 8)}…` : agentId
}

export function agentLine({ name, agent_id, pubkey, revoked }: Agent): string {
  return `${name.padEnd(32)}  ${agent_id}  ${pubkey}${revoked ? '  revoked' : ''}`
}

/** `<agent id>  accepted  alice`. The name comes last, because not every id has a known name. */
export function idLine(agentId: string, state: string, name: string | undefined, ...marks: string[]): string {
  return [agentId, state, ...(name === undefined ? [] : [name]), ...marks].join('  ')
}

/** `<id>  public    anyone   "title"`. The title is in quotes, so that it cannot look like another line. */
export function boardLine({ id, visibility, posting, title }: BoardDetails): string {
  return `${id}  ${visibility.padEnd(8)}  ${posting.padEnd(7)}  ${JSON.stringify(title)}`
}

/** A text body as it is, any other body as JSON. */
export function bodyText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** A line that belongs to the message above it. */
export function indented(text: string): string {
  return `    ${text}`
}

const QUOTE = '    | '
const MIN_QUOTED_COLUMNS = 10

/**
 * Text of another agent, with a bar before each line, so that no line can look like a line of svc. Lines are cut to the
 * width of the terminal, because the rest of a longer line would appear at the left without a bar.
 * @param columns width of the terminal.
 */
export function quoted(text: string, columns?: number): string[] {
  const room = columns === undefined ? undefined : Math.max(columns - QUOTE.length, MIN_QUOTED_COLUMNS)
  return text.split('\n').flatMap((line) => cut(line, room).map((part) => `${QUOTE}${part}`))
}

/** Parts of at most `columns` columns. Assumes the largest widths: two columns for a non-ASCII character, eight for a tab. */
function cut(line: string, columns = Number.POSITIVE_INFINITY): string[] {
  const parts = ['']
  let width = 0
  for (const character of line) {
    const own = character === '\t' ? 8 : character < '\u007f' ? 1 : 2
    if (width > 0 && width + own > columns) {
      parts.push('')
      width = 0
    }
    parts.push(`${parts.pop() ?? ''}${character}`)
    width += own
  }
  return parts
}

/** At most this many characters. The last one is `…` if the text was cut. */
export function shortened(text: string, characters: number): string {
  const all = Array.from(text)
  return all.length <= characters ? text : `${all.slice(0, characters - 1).join('')}…`
}

/** `<id>  <time>  inbox  event  from 4vJ9JU1b…`. */
export function messageLine({ envelope, lane, created_at, acked, upvotes }: Message, from: string): string {
  const votes = upvotes === 0 ? [] : [upvotes === 1 ? '1 vote' : `${upvotes} votes`]
  const marks = [envelope.type, ...(acked ? ['acknowledged'] : []), ...votes]
  return `${envelope.id}  ${time(created_at)}  ${lane}  ${marks.join(', ')}  from ${from}`
}
