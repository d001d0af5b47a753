import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node'
import { StartError } from '../errors.ts'

const LOOPBACK = '127.0.0.1'

/**
 * Answers requests that are not from a client on this machine. `Host`, and `Origin` if present, must name this machine, so that a web
 * page cannot reach the server under a name of its own (DNS rebinding).
 * @param token clients send it as `Authorization: Bearer <token>`.
 * @returns whether the request was refused.
 */
export function createGuard(token: string): (request: IncomingMessage, response: ServerResponse) => boolean {
  const isOwnHost = localhostHostValidation()
  const isOwnOrigin = localhostOriginValidation()
  return (request, response) => {
    if (!isOwnHost(request, response) || !isOwnOrigin(request, response)) return true
    if (hasToken(request, token)) return false
    response
      .writeHead(401, { 'www-authenticate': 'Bearer', 'content-type': 'text/plain' })
      .end('the header Authorization: Bearer <token> is missing or wrong\n')
    return true
  }
}

/**
 * Listens on the loopback address only.
 * @param port 0 for any free port.
 * @param option what a person changes if the port is taken, such as `--http`.
 * @returns `http://127.0.0.1:<port>`. @throws StartError.
 */
export async function listenOnLoopback(server: Server, port: number, option: string): Promise<string> {
  server.listen(port, LOOPBACK)
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'EADDRINUSE' ? 'address already in use' : cause.message
    throw new StartError(`${LOOPBACK}:${port} cannot be listened on: ${reason}; name another port with ${option}`, {
      cause,
    })
  })
  return `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`
}

/** Compares in constant time. */
function hasToken({ headers: { authorization = '' } }: IncomingMessage, token: string): boolean {
  const [given, wanted] = [Buffer.from(authorization), Buffer.from(`Bearer ${token}`)]
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
