import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { buildConnector, Client } from 'undici'

export interface Post {
  readonly url: URL
  /** Checked ones: the connection goes to one of these. */
  readonly addresses: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** For all of it: connection, TLS, request and answer. */
  readonly timeoutMs: number
}

/** At most 64 KiB of an answer are read (spec 10.7). */
const MAX_ANSWER_BYTES = 64 * 1024
const MAX_HEADER_BYTES = 16 * 1024
/** Whatever they are: certificates, informational answers without an end, extensions of chunks. More than the two above with all that TLS adds. */
const MAX_RECEIVED_BYTES = 512 * 1024
/**
 * Key exchange on curves alone. With finite fields the peer chooses the size of the numbers, and thousands of bits cost this process
 * a tenth of a second for each handshake.
 */
const KEY_EXCHANGE = { ciphers: 'DEFAULT:!kDHE', ecdhCurve: 'X25519:P-256:P-384' }

/**
 * Posts once, over a connection of its own, which is shared with nobody and ends with the answer. TLS asks for the URL's name and
 * checks the certificate by it, whatever the address. Redirects are answers like any other; proxies of the environment
 * are not asked: this client knows of neither.
 * @returns the status. What follows it is read to 64 KiB, within the time, and thrown away.
 * @throws Error where there is no answer in time.
 */
export async function post({ url, addresses, headers, body, timeoutMs }: Post): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs)
  const client = new Client(url.origin, {
    allowH2: false,
    pipelining: 1,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    connect: connectTo(addresses, timeoutMs),
  })
  try {
    const path = url.pathname + url.search
    const answer = await client.request({ method: 'POST', path, headers, body, signal, reset: true })
    await readSome(answer.body)
    return answer.statusCode
  } finally {
    // Not awaited: what the peer does with the end of the connection is its own affair.
    void client.destroy()
  }
}

/** Connects to one of the addresses, and cuts off whoever sends too much over it. */
function connectTo(addresses: readonly string[], timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({
    ...KEY_EXCHANGE,
    lookup: lookupIn(addresses),
    autoSelectFamily: true,
    timeout: timeoutMs,
    maxCachedSessions: 0,
  })
  return (options, callback) => {
    connect(options, (...result) => {
      const [, socket] = result
      // In front of undici's own listener, which reads on for as long as something is there.
      socket?.prependListener('readable', () => {
        if (socket.bytesRead > MAX_RECEIVED_BYTES) socket.destroy(new Error('the endpoint sends too much'))
      })
      callback(...result)
    })
  }
}

/** Answers with the checked addresses, whatever is asked for. A literal address is never looked up: it is its own. */
function lookupIn(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = all
    if (options.all) callback(null, all)
    else if (first === undefined) callback(new Error('no address'), '', 0)
    else callback(null, first.address, first.family)
  }
}

/** The status has been said: whatever is wrong with what follows changes nothing. */
async function readSome(answer: Readable): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of answer) {
      bytes += (chunk as Uint8Array).length
      if (bytes > MAX_ANSWER_BYTES) return
    }
  } catch {
    // Cut short, or out of time.
  }
}
