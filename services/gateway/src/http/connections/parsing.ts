/**
 * Bounds the cost of one read of a connection. Node reads 64 KiB at once and parses all of it before it serves another
 * connection, even if the socket is destroyed meanwhile. That can be 1,400 short requests or 10,900 chunks of one byte, with
 * objects for each.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Even the smallest chunk costs as much CPU and memory as some hundred bytes. So a body may arrive in this many pieces, and in
 * more only if they have at least `MIN_PIECE_BYTES` on average.
 */
const MAX_SMALL_PIECES = 256
const MIN_PIECE_BYTES = 64

/** Callbacks of Node's HTTP parser: `kOnMessageBegin` to `kOnMessageComplete` of `HTTPParser`, which Node does not export. */
const CALLBACKS = [0, 1, 2, 3, 4]

/**
 * Calls back once if the body of a request arrives in too many small pieces, whether or not anything reads it. Only a chunked
 * body can: without chunks, one read of the socket yields one piece.
 */
export function watchPieces(request: IncomingMessage, onScattered: () => void): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const { push } = request
  let pieces = 0
  let bytes = 0
  request.push = (chunk, encoding) => {
    if (chunk === null) return push.call(request, chunk, encoding)
    pieces += 1
    bytes += chunk.length
    if (pieces <= MAX_SMALL_PIECES || pieces * MIN_PIECE_BYTES <= bytes) return push.call(request, chunk, encoding)
    request.push = () => false
    onScattered()
    return false
  }
}

/**
 * Makes Node parse the rest of the current read without effect. Without its callbacks the parser costs next to nothing. It gets
 * them back before another connection can use it. The caller must close the connection in the same turn of the event loop.
 */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as { parser?: Record<number, unknown> | null }
  if (parser == null) return
  const callbacks = CALLBACKS.map((key) => parser[key])
  for (const key of CALLBACKS) parser[key] = undefined
  setImmediate(() => {
    for (const key of CALLBACKS) parser[key] = callbacks[key]
  })
}
