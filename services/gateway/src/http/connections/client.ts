import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type AddressRange, clientAddress, isTrustedProxy, rateKey } from './client-address.ts'

export interface Clients {
  /** The key by which a client's requests are counted. Without trusted proxies it depends only on the connection. */
  ofRequest(request: IncomingMessage): string
  /** The key by which a client's connections are counted. Undefined for trusted proxies: they carry requests of many clients. */
  ofConnection(socket: Socket): string | undefined
}

/** The other end of a connection. */
interface Peer {
  readonly address: string
  readonly key: string
  readonly isProxy: boolean
}

export function createClients(trustedProxies: readonly AddressRange[]): Clients {
  const peers = new WeakMap<Socket, Peer>()
  return {
    ofRequest({ socket, headers }) {
      const { address, key, isProxy } = peerOf(socket)
      const forwardedFor = headers['x-forwarded-for']
      if (!isProxy || forwardedFor === undefined) return key
      const entries = typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',')
      return rateKey(clientAddress(address, entries, trustedProxies))
    },
    ofConnection(socket) {
      const { key, isProxy } = peerOf(socket)
      return isProxy ? undefined : key
    },
  }

  /** Remembered, because a closed connection has no address any more. */
  function peerOf(socket: Socket): Peer {
    let peer = peers.get(socket)
    if (peer === undefined) {
      const address = socket.remoteAddress ?? ''
      peer = { address, key: rateKey(address), isProxy: isTrustedProxy(address, trustedProxies) }
      peers.set(socket, peer)
    }
    return peer
  }
}
