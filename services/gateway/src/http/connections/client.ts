import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type AddressRange, clientAddress, isTrustedProxy, rateKey } from './client-address.ts'

export interface Clients {
  /** The key by which a client's requests are counted. Without trusted proxies it depends only on the connection. */
  ofRequest(request: IncomingMessage): string
  /** Whether a trusted proxy has named the client of the request. */
  isForwarded(request: IncomingMessage): boolean
  /** The key by which a client's connections are counted. Undefined for trusted proxies: they carry requests of many clients. */
  ofConnection(socket: Socket): string | undefined
}

export function createClients(trustedProxies: readonly AddressRange[]): Clients {
  const keys = new WeakMap<Socket, string>()
  const keyOfPeer = (socket: Socket): string => {
    let key = keys.get(socket)
    if (key === undefined) {
      key = rateKey(socket.remoteAddress ?? '')
      keys.set(socket, key)
    }
    return key
  }
  return {
    ofRequest({ socket, headers }) {
      const forwardedFor = headers['x-forwarded-for']
      if (trustedProxies.length === 0 || forwardedFor === undefined) return keyOfPeer(socket)
      const entries = typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',')
      return rateKey(clientAddress(socket.remoteAddress ?? '', entries, trustedProxies))
    },
    isForwarded: ({ socket, headers }) =>
      trustedProxies.length > 0 &&
      headers['x-forwarded-for'] !== undefined &&
      isTrustedProxy(socket.remoteAddress ?? '', trustedProxies),
    ofConnection(socket) {
      return isTrustedProxy(socket.remoteAddress ?? '', trustedProxies) ? undefined : keyOfPeer(socket)
    },
  }
}
