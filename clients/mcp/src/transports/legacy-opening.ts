import { type JSONRPCMessage, METHOD_NOT_FOUND, type Transport } from '@modelcontextprotocol/server'
import { mapReceived } from './received.ts'

/**
 * A transport without `server/discover`, so that a client that knows protocol 2026-07-28 falls back to `initialize`. A channel exists
 * only in the older versions.
 */
export function withoutDiscovery(inner: Transport): Transport {
  return mapReceived(inner, (message) => {
    if (!isDiscovery(message)) return message
    void inner.send({
      jsonrpc: '2.0',
      id: message.id,
      error: { code: METHOD_NOT_FOUND, message: 'Method not found' },
    })
    return undefined
  })
}

function isDiscovery(message: JSONRPCMessage): message is JSONRPCMessage & { id: string | number } {
  return 'method' in message && 'id' in message && message.method === 'server/discover'
}
