import { isIP } from 'node:net'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { type AttemptError, attemptErrorOf, lateIn } from './attempt-error.ts'
import type { Target } from './webhook-url.ts'

/**
 * TLS is verified whatever the environment says: without `rejectUnauthorized`, NODE_TLS_REJECT_UNAUTHORIZED=0 would turn the check
 * off, and without `minVersion`, NODE_OPTIONS could allow TLS 1.0. Key exchange is on curves only. In finite fields the peer chooses
 * the size of the numbers, and thousands of bits cost this process a tenth of a second per handshake.
 */
const VERIFIED = {
  rejectUnauthorized: true,
  minVersion: 'TLSv1.2',
  ciphers: 'DEFAULT:!kDHE',
  ecdhCurve: 'X25519:P-256:P-384',
  ALPNProtocols: ['http/1.1'],
} as const

/** The longest time for which a slow address is tried alone. A handshake with a host on the other side of the earth takes 0.9 s. */
const ALONE_MS = 1_000

interface ConnectOptions {
  readonly target: Pick<Target, 'host' | 'port'>
  /** Checked addresses, in the order in which they are tried. */
  readonly addresses: readonly string[]
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Connects to the first address that completes a TLS handshake. An address that fails is followed by the next at once. An address
 * that is slow continues while the next one is tried beside it, so neither a dead nor a slow address uses up the attempt. The
 * certificate must be for the URL's host, whatever the address.
 * @throws AttemptError of the address that came furthest.
 */
export function connectToAny({ target, addresses, timeoutMs, signal }: ConnectOptions): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  const aloneMs = Math.min(ALONE_MS, timeoutMs / (addresses.length + 1))
  const waiting = [...addresses]
  const trying = new Map<TLSSocket, 'connect' | 'handshake'>()
  let furthest: AttemptError | undefined
  let timer: NodeJS.Timeout | undefined

  const settle = (settled: () => void): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onLate)
    for (const socket of trying.keys()) socket.destroy()
    trying.clear()
    waiting.length = 0
    settled()
  }
  const onLate = (): void => {
    const reason = lateIn([...trying.values()].includes('handshake') ? 'handshake' : 'connect')
    settle(() => reject(reason))
  }
  const tryNext = (): void => {
    clearTimeout(timer)
    const address = waiting.shift()
    if (address === undefined) {
      if (trying.size === 0) settle(() => reject(furthest ?? lateIn('connect')))
      return
    }
    timer = setTimeout(tryNext, aloneMs)
    const socket = open(address, target)
    trying.set(socket, 'connect')
    socket.once('connect', () => void (trying.has(socket) && trying.set(socket, 'handshake')))
    socket.once('secureConnect', () => {
      if (!trying.delete(socket)) return
      settle(() => resolve(socket))
    })
    // Stays for the life of the socket: an error without a listener would end the process.
    socket.on('error', (error) => {
      const phase = trying.get(socket)
      if (phase === undefined) return
      trying.delete(socket)
      if (furthest === undefined || phase === 'handshake') furthest = attemptErrorOf(error, phase)
      tryNext()
    })
  }
  if (signal.aborted) return Promise.reject(lateIn('connect'))
  signal.addEventListener('abort', onLate)
  tryNext()
  return promise
}

function open(address: string, { host, port }: ConnectOptions['target']): TLSSocket {
  // A server name is never an address (RFC 6066). Without one, the certificate is checked against `host`, the address.
  const servername = isIP(host) === 0 ? { servername: host } : {}
  return tlsConnect({ ...VERIFIED, ...servername, host: address, port }).setNoDelay(true)
}
