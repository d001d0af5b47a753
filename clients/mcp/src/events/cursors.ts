import type { Aliases } from '../store/aliases.ts'
import { eventError } from './event-errors.ts'

/**
 * Cursors of events. A cursor hides the service's cursor of this agent, and nothing else, so it is valid in every process with this
 * key, and for as long as the service keeps the log.
 */
const PREFIX = 'event:'

export function encodeCursor(aliases: Aliases, cursor: number): string {
  return aliases.hide(`${PREFIX}${cursor}`)
}

/** @throws ProtocolError InvalidParams. */
export function decodeCursor(aliases: Aliases, text: string): number {
  const [, digits] = /^event:(\d{1,15})$/.exec(aliases.reveal(text) ?? '') ?? []
  if (digits === undefined) throw eventError('InvalidParams', 'cursor must be the cursor of an earlier result')
  return Number(digits)
}
