import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Pipelines } from './pipelines.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const closed: string[] = []

/** A connection of a client. */
function connectionOf(client: string): Socket {
  return { client, resetAndDestroy: () => closed.push(client), pause: () => {}, resume: () => {} } as unknown as Socket
}

const ofConnection = (socket: Socket): string => (socket as unknown as { client: string }).client
test.each<[string, (at: number) => string, number]>([
  ['one client with many short pipelines that do not move', () => 'hostile', 24],
  ['many clients, each with a pipeline that does not move', (at) => `hostile ${at}`, 35],
  ['one client with few long pipelines', () => 'hostile', 1_400],
])('when too many requests wait, those of %s go, not a longer pipeline that moves', async (_, clientOf, depth) => {
  closed.length = 0
  const pipelines = new Pipelines({ ofConnection }, () => {})
  const add = (socket: Socket, count: number): void => {
    for (let at = 0; at < count; at += 1) pipelines.queueRequest(socket, {} as IncomingMessage, () => {})
  }
  const neighbour = connectionOf('neighbour')
  add(neighbour, 50)
  for (let waiting = 0, at = 0; waiting < 8_000; waiting += depth, at += 1) {
    add(connectionOf(clientOf(at)), depth)
    vi.advanceTimersByTime(20)
    pipelines.beginNext(neighbour)
    await new Promise((resolve) => setImmediate(resolve))
    add(neighbour, 1)
  }
  expect(closed.length).toBeGreaterThan(0)
  expect(closed).not.toContain('neighbour')
})
