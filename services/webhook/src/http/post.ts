import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { buildConnector, Client } from 'undici'

interface Post {
  readonly url: URL
  /** Checked addresses. The connection goes to one of them. */
  readonly addresses: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Timeout for everything together: connection, TLS, request and answer. */
  readonly timeoutMs: number
}

/** At most 64 KiB of an answer's body are read (spec 10.7). */
const MAX_ANSWER_BYTES = 64 * 1024
const MAX_HEADER_BYTES = 16 * 1024
/**
 * Bound on all received bytes, which include certificates, endless informational answers and chunk extensions. It is above
 * the two bounds above plus everything that TLS adds.
 */
const MAX_RECEIVED_BYTES = 512 * 1024
/**
 * Allows key exchange on curves only. In finite fields the peer chooses the size of the numbers, and thousands of bits
 * cost this process a tenth of a second per handshake.
 */
const KEY_EXCHANGE = { ciphers: 'DEFAULT:!kDHE', ecdhCurve: 'X25519:P-256:P-384' }

/**
 * Posts once, over a connection that nothing else uses and that ends with the answer. TLS requests the URL's name and
 * checks the certificate against it, whatever the address. Redirects count as any other answer, and proxies of the
 * environment are not used, because this client supports neither.
 * @returns the status. Up to 64 KiB of the body are read within the timeout, and discarded.
 * @throws Error if no answer arrives in time.
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
    // Not awaited, because the peer could delay the end of the connection.
    void client.destroy()
  }
}

/** Connects to one of the addresses, and closes the connection if the peer sends too much. */
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
      // Runs before undici's own listener, which keeps reading while there is data.
      socket?.prependListener('readable', () => {
        if (socket.bytesRead > MAX_RECEIVED_BYTES)
          socket.destroy(new Error(`the endpoint sent more than ${MAX_RECEIVED_BYTES} bytes`))
      })
      callback(...result)
    })
  }
}

/** Returns the checked addresses for any name. Node does not look up a literal address, so this is never called for one. */
function lookupIn(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = all
    if (options.all) callback(null, all)
    else if (first === undefined) callback(new Error('no address'), '', 0)
    else callback(null, first.address, first.family)
  }
}

/** Drains the body. Errors do not matter, because the status is known. */
async function readSome(answer: Readable): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of answer) {
      bytes += (chunk as Uint8Array).length
      if (bytes > MAX_ANSWER_BYTES) return
    }
  } catch {
    // The body was cut off, or did not arrive in time.
  }
}
