import type { Writable } from 'node:stream'

/**
 * Writes one line about what the server did. Fields hold names, ids, codes and numbers: never a body, a key, a token, or a text
 * that others wrote.
 */
export type Log = (event: string, fields?: Readonly<Record<string, string | number | boolean | undefined>>) => void

/** JSON lines on a stream; on stdio that is stderr, because stdout is the protocol's. */
export function createLog(output: Writable): Log {
  return (event, fields = {}) => {
    output.write(`${JSON.stringify({ time: new Date().toISOString(), event, ...fields })}\n`)
  }
}
