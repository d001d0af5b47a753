import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '@svc/telemetry/logger.ts'
import { type AddressRange, clientAddress, type Doubt, isTrustedProxy, rateKey } from './client-address.ts'

export interface Clients {
  /** The key by which a client's requests are counted. Without trusted proxies it depends only on the connection. */
  ofRequest(request: IncomingMessage): string
  /** The address behind that key. */
  addressOf(request: IncomingMessage): string
  /** Whether a trusted proxy has named the client of the request. */
  isForwarded(request: IncomingMessage): boolean
  /** The key by which a client's connections are counted. Undefined for trusted proxies: they carry requests of many clients. */
  ofConnection(socket: Socket): string | undefined
}

/** A doubt is about the configuration, which rarely changes. Clients can cause some doubts, so each kind has its own limit. */
const LOG_EVERY_MS = 60 * 60 * 1_000

const SENTENCES: Readonly<Record<Doubt, string>> = {
  absent:
    'a trusted proxy sent no X-Forwarded-For, so its clients count as one: let it set this header to the address of its client',
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
  const keys = new WeakMap<Socket, string>()
  const loggedMs = new Map<Doubt, number>()

  return {
    ofRequest(request) {
      const { socket, headers } = request
      if (trustedProxies.length === 0 && headers['x-forwarded-for'] === undefined) return keyOfPeer(socket)
      const { address, doubt } = find(request)
      if (doubt !== undefined) note(doubt, address, request)
      return rateKey(address)
    },
    addressOf: (request) => find(request).address,
    isForwarded: ({ socket, headers }) =>
      trustedProxies.length > 0 &&
      headers['x-forwarded-for'] !== undefined &&
      isTrustedProxy(socket.remoteAddress ?? '', trustedProxies),
    ofConnection(socket) {
      return isTrustedProxy(socket.remoteAddress ?? '', trustedProxies) ? undefined : keyOfPeer(socket)
    },
  }

  function keyOfPeer(socket: Socket): string {
    let key = keys.get(socket)
    if (key === undefined) {
      key = rateKey(socket.remoteAddress ?? '')
      keys.set(socket, key)
    }
    return key
  }

  function find({ socket, headers }: IncomingMessage): ReturnType<typeof clientAddress> {
    return clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for']?.toString(), trustedProxies)
  }

  function note(doubt: Doubt, address: string, { socket, url }: IncomingMessage): void {
    // A proxy's own health check has no client.
    if (doubt === 'absent' && url === '/v2/health') return
    const last = loggedMs.get(doubt)
    if (last !== undefined && performance.now() - last < LOG_EVERY_MS) return
    loggedMs.set(doubt, performance.now())
    logger?.warn({ doubt, peer: socket.remoteAddress, client: address }, SENTENCES[doubt])
  }
}
