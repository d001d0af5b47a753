/** Connections of hostile clients and of their neighbours. */
import { connect, type Socket } from 'node:net'
import { eventually } from '../support/eventually.ts'
import { AUTHORITY } from './lone-gateway.ts'

export interface RawConnection {
  readonly socket: Socket
  readonly received: () => string
  /** The statuses of all answers until now, in order. */
  readonly statuses: string[]
  /** Settles when the other end has closed the connection. */
  readonly closed: Promise<void>
}

/** @param address of the client. Each address has its own rate. */
export async function openConnection(port: number, address: string): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: address })
  let received = ''
  const statuses: string[] = []
  let at = 0
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    for (const line of received.slice(at).matchAll(/HTTP\/1\.1 (\d{3}) /g)) statuses.push(line[1] ?? '')
    at = Math.max(0, received.length - 12)
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  socket.on('error', () => {}) // the other end may reset it
  return { socket, received: () => received, statuses, closed }
}

/** The head of a request. */
export const request = (line: string, ...fields: string[]): string =>
  [`${line} HTTP/1.1`, `Host: ${AUTHORITY}`, ...fields, '', ''].join('\r\n')

/** The head of a request with a chunked body. */
export const chunked = (target: string): string =>
  request(`POST ${target}`, 'Transfer-Encoding: chunked', 'Content-Type: application/json')

export const chunks = (count: number, text: string, extension = ''): string =>
  `${text.length.toString(16)}${extension}\r\n${text}\r\n`.repeat(count)

export interface Neighbours extends AsyncDisposable {
  readonly address: string
  readonly misused: RawConnection
  /** Sends one more request on the connection that the neighbour keeps open. @returns whether it was answered. */
  isServed(): Promise<boolean>
}

/** Two connections of an address: one that is misused, and one of a neighbour that does nothing unusual. */
export async function openNeighbours(port: number, address: string): Promise<Neighbours> {
  const neighbour = await openConnection(port, address)
  let asked = 0
  return {
    address,
    misused: await openConnection(port, address),
    async isServed() {
      asked += 1
      neighbour.socket.write(request('GET /v2/x'))
      await eventually(() => neighbour.statuses.length === asked || neighbour.socket.closed)
      return !neighbour.socket.closed
    },
    async [Symbol.asyncDispose]() {
      neighbour.socket.destroy()
      await neighbour.closed
    },
  }
}
