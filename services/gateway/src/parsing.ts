/**
 * Bounds what one read of a connection costs. Node reads 64 KiB at once and parses all of it before it looks at another connection,
 * even if the socket is destroyed meanwhile: 1,400 short requests, or 10,900 chunks of one byte, with objects for each.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/**
 * A chunk costs as much CPU and memory as some hundred bytes, however small it is. So a body may come in this many pieces, and in
 * more only if they have `MIN_PIECE_BYTES` on average.
 */
export const MAX_SMALL_PIECES = 256
const MIN_PIECE_BYTES = 64

/** Callbacks of Node's HTTP parser: `kOnMessageBegin` to `kOnMessageComplete` of `HTTPParser`, which Node does not export. */
const CALLBACKS = [0, 1, 2, 3, 4]

/**
 * Calls back once if the body of a request comes in too many small pieces, whether or not anything reads it. Only chunked bodies can:
 * without chunks a piece is what one read of the socket brought.
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
 * Parses the rest of what was just read without making anything of it. The caller closes the connection in the same turn. Without
 * its callbacks the parser of Node costs next to nothing; it gets them back before another connection can use it.
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
