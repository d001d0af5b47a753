import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { connectionOf } from './connection.ts'
import { Crowd } from './crowd.ts'

interface Fake extends Socket {
  readonly client: string
}

const clients = { ofConnection: (socket: Socket) => (socket as Fake).client }
const answer = {} as ServerResponse

function startCrowd(limits = { maxPerClient: 3, max: 5 }) {
  const closed: string[] = []
  const server = new EventEmitter()
  new Crowd({ clients, ...limits }).watch(server as never)
  const connect = (client: string, name: string): Fake => {
    const socket = Object.assign(new EventEmitter(), { client, destroy: () => closed.push(name) }) as unknown as Fake
    server.emit('connection', socket)
    return socket
  }
  const use = (socket: Fake): boolean => server.emit('request', { socket }, new EventEmitter())
  return { closed, connect, use }
}

test('past the limit of a client, its connection that was used longest ago is closed, not a neighbour that is busy', () => {
  const { closed, connect, use } = startCrowd()
  const [first, busy] = [connect('a', 'first'), connect('a', 'busy')]
  connect('a', 'idle')
  connectionOf(busy).open.add(answer)
  use(first)
  connect('a', 'fourth')
  expect(closed).toEqual(['idle'])
})

test('past the common limit, the client with most connections loses one', () => {
  const { closed, connect } = startCrowd()
  for (const name of ['a1', 'a2', 'a3']) connect('a', name)
  for (const name of ['b1', 'b2']) connect('b', name)
  connect('c', 'c1')
  expect(closed).toEqual(['a1'])
})

test('if all connections are busy, the new one is closed', () => {
  const { closed, connect } = startCrowd()
  for (const name of ['a1', 'a2', 'a3']) connectionOf(connect('a', name)).open.add(answer)
  const fourth = connect('a', 'fourth')
  connectionOf(fourth).open.add(answer)
  expect(closed).toEqual(['fourth'])
})

test('connections that ended make room', () => {
  const { closed, connect } = startCrowd()
  for (const name of ['a1', 'a2', 'a3']) connect('a', name).emit('close')
  for (const name of ['a4', 'a5', 'a6']) connect('a', name)
  expect(closed).toEqual([])
})
