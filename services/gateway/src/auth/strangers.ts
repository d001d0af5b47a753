import type { IncomingMessage } from 'node:http'
import { ServiceError } from '@svc/contracts/errors.ts'
import { LRUCache } from 'lru-cache'
import type { Operation } from '../api/operation.ts'

/**
 * Tells requests of registered agents from all others before a signature is verified, so that load.ts can reserve room
 * for agents. A request that carries a signature counts as signed, unless a signature from the same address was invalid
 * recently.
 */
interface Strangers {
  /** @param client the key from `Clients.ofRequest`. */
  isUnsigned(request: IncomingMessage, operation: Operation, client: string): boolean
  /**
   * Remembers the client if the request carried a signature and the error shows that no registered agent made that
   * signature.
   */
  note(error: unknown, request: IncomingMessage, client: string): void
}

/** Past this number, the client with the oldest invalid signature is forgotten. */
const MAX_CLIENTS = 10_000
/** How long an invalid signature counts against its address. Agents that share the address count as unsigned meanwhile. */
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
    // A challenge or a registration brings its own key, so anybody can sign one.
    isUnsigned: ({ headers }, { keyFrom }, client) =>
      headers.authorization === undefined || keyFrom === 'body' || (mistrusted.size > 0 && mistrusted.has(client)),
    note(error, { headers }, client) {
      if (headers.authorization === undefined) return
      if (error instanceof ServiceError && FALSE_CLAIMS.has(error.code)) mistrusted.set(client, true)
    },
  }
}
