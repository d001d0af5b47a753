/** Tries to fill a gateway's memory, with answers that are hardly read and bodies that do not end. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Agent } from '../support/client/agent.ts'

const CONNECTIONS = 250
/** Connections that begin at once. A gateway lets 192 reads of pages wait. */
const AT_ONCE = 50
/** Messages of a page. With the largest messages it has 200 KiB: unsent pages of all connections stay below a gateway's 64 MiB. */
export const PAGE_MESSAGES = 12
/** Pages that each connection requests at once: as much as Linux buffers by default, and more. */
const PAGES = 24
/** A gateway closes a connection that reads less than 4 KiB/s over 20 s. */
const READ_BYTES = 16 * 1024
const READ_MS = 2_000
const BODY_BYTES = 96 * 1024

/**
 * Each connection names another client in X-Forwarded-For, as a trusted proxy does.
 * @param readers agents with inboxes of at least `PAGE_MESSAGES` messages of the largest size.
 */
export async function startFlood(address: string, readers: readonly Agent[]): Promise<Disposable> {
  const sockets: Socket[] = []
  const reading = setInterval(() => {
    for (const socket of sockets) socket.read(READ_BYTES)
  }, READ_MS)
  while (sockets.length < 2 * CONNECTIONS) {
    const begun = Array.from({ length: AT_ONCE }, (_, index) => begin(address, readers, sockets.length + index))
    sockets.push(...(await Promise.all(begun)))
  }
  return {
    [Symbol.dispose]() {
      clearInterval(reading)
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function begin(address: string, readers: readonly Agent[], at: number): Promise<Socket> {
  const client = `198.51.${100 + (at >> 8)}.${at & 255}`
  const reader = readers[at % readers.length]
  if (reader === undefined) throw new RangeError('there are readers')
  if (at >= CONNECTIONS) return open(address, endlessBody(reader, client))
  const socket = await open(address, unreadPages(reader, client))
  await once(socket, 'readable')
  return socket
}

function open(address: string, text: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(8080, address).pause()
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject).on('error', () => {}) // the gateway may reset it
      socket.write(text, () => resolve(socket))
    })
  })
}

function unreadPages(reader: Agent, client: string): string {
  const target = `/v2/events?limit=${PAGE_MESSAGES}`
  return Array.from({ length: PAGES }, () => head('GET', target, client, reader.sign('GET', target))).join('')
}

function endlessBody(reader: Agent, client: string): string {
  const fields = {
    ...reader.sign('POST', '/v2/messages'),
    'Content-Type': 'application/json',
    'Content-Length': BODY_BYTES,
  }
  return head('POST', '/v2/messages', client, fields) + 'x'.repeat(BODY_BYTES - 1)
}

function head(
  method: string,
  target: string,
  client: string,
  fields: Readonly<Record<string, string | number>>,
): string {
  const lines = Object.entries({ Host: 'agents.example.org', 'X-Forwarded-For': client, ...fields })
  return `${method} ${target} HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n`
}
