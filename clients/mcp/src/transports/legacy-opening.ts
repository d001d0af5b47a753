import { type JSONRPCMessage, METHOD_NOT_FOUND, type Transport } from '@modelcontextprotocol/server'

/**
 * A transport without `server/discover`, so that a client that knows protocol 2026-07-28 falls back to `initialize`. A channel exists
 * only in the older versions.
 */
export function withoutDiscovery(inner: Transport): Transport {
  const outer: Transport = {
    async start() {
      inner.onclose = () => outer.onclose?.()
      inner.onerror = (error) => outer.onerror?.(error)
      inner.onmessage = (message, extra) => {
        if (!isDiscovery(message)) outer.onmessage?.(message, extra)
        else
          void inner.send({
            jsonrpc: '2.0',
            id: message.id,
            error: { code: METHOD_NOT_FOUND, message: 'Method not found' },
          })
      }
      await inner.start()
    },
    send: (message, options) => inner.send(message, options),
    close: () => inner.close(),
  }
  return outer
}

function isDiscovery(message: JSONRPCMessage): message is JSONRPCMessage & { id: string | number } {
  return 'method' in message && 'id' in message && message.method === 'server/discover'
}
