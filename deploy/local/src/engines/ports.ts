import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { listenHost } from '@svc/config/host.ts'
import { codeOf } from '../start-error.ts'
import { LOOPBACK } from './loopback.ts'

/**
 * This range is below the ports that systems use for outgoing connections (from 32768 on Linux, 49152 on macOS). In that
 * higher range, a client that retries while its server is down can be given the server's port for its own end, and then
 * connects to itself.
 */
const FIRST_PORT = 20_000
const LAST_PORT = 32_000
const ATTEMPTS = 50

/** Ports that this process has tried or returned. A server may start on its port long after others have looked for theirs. */
const taken = new Set<number>()

/**
 * Finds `count` consecutive free ports on the loopback address and returns the first. Never returns a port twice in one process. Another process can
 * still take it first, so the caller must retry.
 */
export async function findFreePort(count = 1): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const first = randomInt(FIRST_PORT, LAST_PORT)
    const ports = Array.from({ length: count }, (_, at) => first + at)
    if (ports.some((port) => taken.has(port))) continue
    for (const port of ports) taken.add(port)
    const free = await Promise.all(ports.map((port) => isPortFree(port)))
    if (!free.includes(false)) return first
  }
  throw new Error(`found no ${count} consecutive free ports from ${FIRST_PORT} to ${LAST_PORT}`)
}

/** Whether a server could listen on the port. @throws if the address cannot be used at all (a port below 1024). */
export async function isPortFree(port: number, host = LOOPBACK): Promise<boolean> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ port, host: listenHost(host), exclusive: true }, resolve)
    })
    return true
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return false
    throw error
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
}
