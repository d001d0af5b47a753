import type { Exchange } from '../result.ts'
import type { Authentication } from './authentication.ts'

/** One request of the client. */
export interface Seen {
  readonly route: string
  readonly target: string
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>
  readonly body: string
  readonly atMs: number
  /** When its answer was sent. Undefined while there is none. */
  answeredMs: number | undefined
  readonly authentication: Authentication | undefined
  /** Why the specification does not allow this request. */
  readonly faults: string[]
  exchange: Exchange
}

/** The place behind which a request reads (spec 9.7). */
export function placeOf({ target, headers }: Pick<Seen, 'target' | 'headers'>): number {
  const last = headers['last-event-id']?.[0]
  return Number(last ?? new URLSearchParams(target.split('?')[1] ?? '').get('after') ?? 0)
}
