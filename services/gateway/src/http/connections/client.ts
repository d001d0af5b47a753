import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '@svc/telemetry/logger.ts'
import { type AddressRange, clientAddress, type Doubt, isTrustedProxy, rateKey } from './client-address.ts'

export interface Clients {
  /** The key by which a client's requests are counted. Without trusted proxies it depends only on the connection. */
  ofRequest(request: IncomingMessage): string
  /** The address behind that key. */
  addressOf(request: IncomingMessage): string
  /** The key by which a client's connections are counted. Undefined for trusted proxies: they carry requests of many clients. */
  ofConnection(socket: Socket): string | undefined
}

/** The other end of a connection. */
interface Peer {
  readonly address: string
  readonly key: string
  readonly isProxy: boolean
}

/** A doubt is about the configuration, which rarely changes. Clients can cause some doubts, so each kind has its own limit. */
const LOG_EVERY_MS = 60 * 60 * 1_000

const SENTENCES: Readonly<Record<Doubt, string>> = {
  absent:
    'a trusted proxy named no client in X-Forwarded-For, so its clients count as one: let it set this header to the address of its client',
  unreadable:
    'a trusted proxy forwarded something that is not an address, so its clients count as one: let it set X-Forwarded-For to the address of its client',
  private:
    'a trusted proxy forwarded a private address: if it is the address of another proxy, add it to SVC_TRUSTED_PROXIES, or all clients of that proxy count as one',
  longer:
    'X-Forwarded-For has more entries than trusted proxies: if the client is a proxy of yours, add its address to SVC_TRUSTED_PROXIES, or all its clients count as one; otherwise the client wrote the other entries, and they are ignored',
  untrusted:
    'a peer with a private address sent X-Forwarded-For, which is ignored: if it is a proxy of yours, add its address to SVC_TRUSTED_PROXIES, or all its clients count as one',
}

export function createClients(trustedProxies: readonly AddressRange[], logger?: Logger): Clients {
  const peers = new WeakMap<Socket, Peer>()
  const loggedMs = new Map<Doubt, number>()

  return {
    ofRequest(request) {
      const { key, isProxy } = peerOf(request.socket)
      if (!isProxy && request.headers['x-forwarded-for'] === undefined) return key
      const { address, doubt } = find(request)
      if (doubt !== undefined) note(doubt, address, request)
      return isProxy ? rateKey(address) : key
    },
    addressOf: (request) => find(request).address,
    ofConnection(socket) {
      const { key, isProxy } = peerOf(socket)
      return isProxy ? undefined : key
    },
  }

  /** Remembered, because a closed connection has no address any more. */
  function peerOf(socket: Socket): Peer {
    let peer = peers.get(socket)
    if (peer === undefined) {
      // A socket for both families shows an IPv4 address as ::ffff:192.0.2.1.
      const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '')
      peer = { address, key: rateKey(address), isProxy: isTrustedProxy(address, trustedProxies) }
      peers.set(socket, peer)
    }
    return peer
  }

  function find({ socket, headers }: IncomingMessage): ReturnType<typeof clientAddress> {
    return clientAddress(peerOf(socket).address, headers['x-forwarded-for']?.toString(), trustedProxies)
  }

  function note(doubt: Doubt, address: string, { socket, url }: IncomingMessage): void {
    // A health check of a proxy or of its machine has no client, so it says nothing about others.
    if (url === '/v2/health') return
    const last = loggedMs.get(doubt)
    if (last !== undefined && performance.now() - last < LOG_EVERY_MS) return
    loggedMs.set(doubt, performance.now())
    logger?.warn({ doubt, peer: peerOf(socket).address, client: address }, SENTENCES[doubt])
  }
}
