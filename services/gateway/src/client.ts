import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type AddressRange, clientAddress, rateKey } from './domain/client-address.ts'

/** What the requests of one client are counted by. Without trusted proxies that is a matter of the connection alone. */
export function createClientOf(trustedProxies: readonly AddressRange[]): (request: IncomingMessage) => string {
  const keys = new WeakMap<Socket, string>()
  const keyOfPeer = (socket: Socket): string => {
    let key = keys.get(socket)
    if (key === undefined) {
      key = rateKey(socket.remoteAddress ?? '')
      keys.set(socket, key)
    }
    return key
  }
  if (trustedProxies.length === 0) return ({ socket }) => keyOfPeer(socket)
  return ({ socket, headers }) => {
    const forwardedFor = headers['x-forwarded-for']
    if (forwardedFor === undefined) return keyOfPeer(socket)
    const entries = typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',')
    return rateKey(clientAddress(socket.remoteAddress ?? '', entries, trustedProxies))
  }
}
