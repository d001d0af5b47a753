/** What an operator's acts do to open streams (spec 12.4). */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Case } from '../../cases/case.ts'
import { check, got } from '../../cases/check.ts'
import type { Agent } from '../../http/agent.ts'
import { headOf, openRaw, type RawConnection } from '../../http/raw.ts'

const WHY = ['--reason', 'a test']
/** The effects are within 2 seconds, but a busy machine needs longer. */
const LATE_MS = 20_000

function openStream(agent: Agent, gateway = 0): RawConnection {
  const { urls } = agent.server
  const url = urls[gateway % urls.length] ?? ''
  const connection = openRaw(url)
  connection.write(headOf(url, 'GET /v2/stream', agent.sign('GET', '/v2/stream', undefined).headers))
  return connection
}

async function until(isSo: () => boolean, what: string): Promise<void> {
  for (const endMs = Date.now() + LATE_MS; !isSo(); await sleep(50)) {
    if (Date.now() > endMs) throw new Error(`${what} did not happen within ${LATE_MS / 1_000} s`)
  }
}

export const STREAM_CASES: readonly Case[] = [
  {
    id: 'operations/streams/suspension',
    title: 'Suspension: the open streams of the agent close, at every gateway, with a last cursor frame',
    spec: ['12.4', '9.9'],
    needs: ['operator'],
    agents: 1,
    async run({ agent, operator }) {
      const bob = await agent()
      const streams = [openStream(bob, 0), openStream(bob, 1)]
      for (const { received } of streams.map((one) => ({ received: () => one.received })))
        await until(() => received().includes('event: cursor'), 'the first cursor frame')
      await operator.run('suspend', bob.id, ...WHY)
      await until(() => streams.every(({ socket, received }) => socket.closed || received.endsWith('0\r\n\r\n')), 'the end of the streams')
      for (const { received } of streams) check(received.split('event: cursor').length, 3, 'cursor frames and one')
      for (const one of streams) one[Symbol.dispose]()
    },
  },
  {
    id: 'operations/streams/takedown',
    title: 'Takedown: a message that is taken down is in no stream, and its cursor is not repeated',
    spec: ['12.4', '9.7'],
    needs: ['operator'],
    agents: 1,
    async run({ agent, operator }) {
      const bob = await agent()
      const { msg_id } = await got(bob.send(bob, 'first'))
      const { msg_id: next } = await got(bob.send(bob, 'second'))
      await operator.run('takedown', msg_id, ...WHY)
      using stream = openStream(bob)
      await until(() => stream.received.includes('event: cursor'), 'the first cursor frame')
      check(stream.received.includes(msg_id), false, 'the message in the stream')
      check(stream.received.includes(next), true, 'the next message in the stream')
      await operator.run('restore', msg_id, ...WHY)
      using again = openStream(bob)
      await until(() => again.received.includes(msg_id), 'the restored message in the stream')
    },
  },
]
