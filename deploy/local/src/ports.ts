import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { codeOf } from './start-error.ts'

/**
 * Below the ports that systems give to outgoing connections (from 32768 on Linux, 49152 on macOS): a client that keeps
 * trying such a port while its server is away can be given the very same port for its own end, and then talks to itself.
 */
const FIRST_PORT = 20_000
const LAST_PORT = 32_000
const ATTEMPTS = 50

/** A port on 127.0.0.1 that nobody listens on now; another process can still be faster, so the caller tries again. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT)
    if (await isPortFree(port)) return port
  }
  throw new Error(`no free port from ${FIRST_PORT} to ${LAST_PORT}`)
}

/** Whether one could listen there. @throws where the address cannot be used at all (a port below 1024). */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ port, host, exclusive: true }, resolve)
    })
    return true
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return false
    throw error
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
}
