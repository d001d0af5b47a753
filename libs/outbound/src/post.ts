import { isIPv6 } from 'node:net'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { type buildConnector, Client } from 'undici'
import { AttemptError, attemptErrorOf } from './attempt-error.ts'
import { connectToAny } from './connect.ts'
import type { Target } from './webhook-url.ts'

interface Post {
  readonly target: Omit<Target, 'exempt'>
  /** Checked addresses. The connection goes to one of them. */
  readonly addresses: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Timeout for everything together: connection, TLS, request and answer. */
  readonly timeoutMs: number
  /** Called with each part of the answer's body that is read. */
  readonly onAnswer?: (part: Uint8Array) => void
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
 * Posts once, over a connection that nothing else uses and that ends with the answer. Redirects count as any other answer, and
 * proxies of the environment are not used, because this client supports neither.
 * @returns the status. Up to 64 KiB of the body are read within the timeout.
 * @throws AttemptError if no answer arrives in time.
 */
export async function post({ target, addresses, headers, body, timeoutMs, onAnswer }: Post): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs)
  const socket = await connectToAny({ target, addresses, timeoutMs, signal })
  destroyIfEndless(socket)
  const client = new Client(originOf(target), {
    allowH2: false,
    pipelining: 1,
    // The signal alone limits the time.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    connect: (_options, callback) => queueMicrotask(() => give(socket, callback)),
  })
  try {
    const answer = await client.request({ method: 'POST', path: target.path, headers, body, signal, reset: true })
    await readSome(answer.body, onAnswer)
    return answer.statusCode
  } catch (error) {
    throw attemptErrorOf(error, 'answer')
  } finally {
    // Not awaited, because the peer could delay the end of the connection.
    void client.destroy()
    socket.destroy()
  }
}

/** Called in a later microtask, as a client whose connection is there at once never sends its request. */
function give(socket: TLSSocket, callback: buildConnector.Callback): void {
  if (socket.destroyed) callback(new AttemptError('connection', 'closed: the connection ended without an answer'), null)
  else callback(null, socket)
}

/** Without the default port, so that `Host` has none either. */
function originOf({ host, port }: Post['target']): string {
  return new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`).origin
}

/** Set before undici's own listener, which keeps reading while there is data. */
function destroyIfEndless(socket: TLSSocket): void {
  socket.on('readable', () => {
    if (socket.bytesRead <= MAX_RECEIVED_BYTES) return
    socket.destroy(new AttemptError('connection', `answer too large: more than ${MAX_RECEIVED_BYTES / 1024} KiB`))
  })
}

/** Reads the body. Errors do not matter, because the status is known. */
async function readSome(answer: Readable, onPart: Post['onAnswer']): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of answer) {
      bytes += (chunk as Uint8Array).length
      if (bytes > MAX_ANSWER_BYTES) return
      onPart?.(chunk as Uint8Array)
    }
  } catch {
    // The body was cut off, or did not arrive in time.
  }
}
