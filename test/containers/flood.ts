/** Tries to fill a gateway's memory, with answers that nobody reads and bodies that do not end. */
import { connect, type Socket } from 'node:net'
import type { Agent } from '../support/client/agent.ts'

const CONNECTIONS = 250
/** Pages that each connection requests at once. */
const PAGES = 6
const BODY_BYTES = 96 * 1024

/**
 * Each connection names another client in X-Forwarded-For, as a trusted proxy does.
 * @param readers agents with inboxes of large messages. Each may read 200 pages at once, of up to 512 KiB.
 */
export async function startFlood(address: string, readers: readonly Agent[]): Promise<Disposable> {
  const sockets = await Promise.all(
    Array.from({ length: 2 * CONNECTIONS }, (_, at) => {
      const client = `198.51.${100 + (at >> 8)}.${at & 255}`
      const reader = readers[at % readers.length]
      if (reader === undefined) throw new RangeError('there are readers')
      return open(address, at < CONNECTIONS ? unreadPages(reader, client) : endlessBody(reader, client))
    }),
  )
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
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
  const target = '/v2/events?limit=100'
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
