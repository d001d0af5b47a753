import type { IncomingMessage } from 'node:http'
import { ServiceError } from '@svc/contracts/errors.ts'
import { LRUCache } from 'lru-cache'
import type { Operation } from './operation.ts'

/**
 * Tells requests of registered agents from all others before anything is spent on a signature, so that load.ts can keep room for
 * the former. A request that claims a signature is believed, unless a claim from its address turned out to be false lately.
 */
export interface Strangers {
  /** @param client what `Clients.ofRequest` counts the request by. */
  isUnsigned(request: IncomingMessage, operation: Operation, client: string): boolean
  /** Remembers the client if the request claimed a signature, and the error says that no registered agent had made it. */
  note(error: unknown, request: IncomingMessage, client: string): void
}

/** Least recently false goes first. */
const MAX_CLIENTS = 10_000
/** How long one false claim counts against its address. Agents that share it have the room of unsigned requests meanwhile. */
const MISTRUST_MS = 60_000

const FALSE_CLAIMS: ReadonlySet<string> = new Set([
  'unauthenticated',
  'timestamp_out_of_range',
  'signer_unknown',
  'signature_invalid',
  'signer_revoked',
])

export function createStrangers(): Strangers {
  const mistrusted = new LRUCache<string, true>({ max: MAX_CLIENTS, ttl: MISTRUST_MS })
  return {
    // The key of a challenge or a registration comes with it: anybody can sign one.
    isUnsigned: ({ headers }, { keyFrom }, client) =>
      headers.authorization === undefined || keyFrom === 'body' || (mistrusted.size > 0 && mistrusted.has(client)),
    note(error, { headers }, client) {
      if (headers.authorization === undefined) return
      if (error instanceof ServiceError && FALSE_CLAIMS.has(error.code)) mistrusted.set(client, true)
    },
  }
}
