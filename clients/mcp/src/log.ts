import type { Writable } from 'node:stream'

/**
 * Writes one line about an event. Fields contain only names, ids, codes and numbers: never a body, a key, a token or text of
 * others.
 */
export type Log = (event: string, fields?: Readonly<Record<string, string | number | boolean | undefined>>) => void

/** Writes JSON lines. With stdio the output must be stderr, because the protocol uses stdout. */
export function createLog(output: Writable): Log {
  return (event, fields = {}) => {
    output.write(`${JSON.stringify({ time: new Date().toISOString(), event, ...fields })}\n`)
  }
}
