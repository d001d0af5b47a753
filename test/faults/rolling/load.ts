import type { Agent } from '../../support/agent.ts'
import { got, outcomeOf } from '../../support/answers.ts'
import { newBoard, subscribe } from '../../support/boards.ts'
import { openEventStream, type TestStream } from '../../support/event-stream.ts'
import { eventually } from '../../support/eventually.ts'
import type { Harness } from '../../support/harness.ts'
import { createKeepAliveClient } from './keep-alive-client.ts'

/** What an upgrade is done under: everybody sends, reads and listens, and nobody is to notice. */
export interface RollingLoad extends AsyncDisposable {
  /** Answers that are not what they should be, and streams that did not end with a last cursor. */
  readonly wrong: readonly string[]
  /** Calls answered so far. */
  readonly answered: number
  /** Until so many more are answered. */
  more(count: number): Promise<void>
  /** Stops, and finds what is missing, there twice, or out of order. */
  finish(): Promise<string[]>
}

const SENDERS = 8
const MORE_LIMIT_MS = 20_000
const CAUGHT_UP_MS = 15_000
const REOPEN_MS = 50

interface Reader {
  readonly agent: Agent
  readonly accepted: Set<string>
  readonly delivered: { cursor: number; id: string }[]
}

export async function startRollingLoad(h: Harness): Promise<RollingLoad> {
  const client = createKeepAliveClient(h.system.urls)
  const wrong: string[] = []
  const streams = new Set<TestStream>()
  let answered = 0
  let stopped = false
  const senders = await h.agents(SENDERS)
  const readers = (await h.agents(2)).map((agent): Reader => ({ agent, accepted: new Set(), delivered: [] }))
  const [owner] = senders
  if (owner === undefined) throw new RangeError('there is a first sender')
  const board = await newBoard(owner, { posting: 'anyone' })
  for (const { agent } of readers) {
    await got(agent.patch('/v2/me', { inbox_policy: 'open' }))
    await subscribe(agent, board)
  }
  const working = senders.map(work)
  const listening = readers.map(listen)
  for (const done of [...working, ...listening]) done.catch((error: unknown) => wrong.push(String(error)))

  return {
    wrong,
    get answered() {
      return answered
    },
    async more(count) {
      const target = answered + count
      await eventually(() => answered >= target || wrong.length > 0, { timeoutMs: MORE_LIMIT_MS, what: 'more answers' })
    },
    async finish() {
      stopped = true
      await Promise.allSettled(working)
      const found = await Promise.all(readers.map(compare))
      return [...wrong, ...found.flat()]
    },
    async [Symbol.asyncDispose]() {
      stopped = true
      for (const stream of streams) stream.close()
      await Promise.allSettled([...working, ...listening])
      await client[Symbol.asyncDispose]()
    },
  }

  async function work(sender: Agent, index: number): Promise<void> {
    for (let count = 0; !stopped; count += 1) {
      const reader = readers[(index + count) % readers.length]
      if (reader === undefined) throw new RangeError('there are readers')
      const isPost = count % 5 === 4
      const envelope = sender.envelope(isPost ? `board:${board}` : reader.agent, count)
      const sent = await client.call(sender, { method: 'POST', target: '/v2/messages', body: envelope })
      // What is sent again was not taken before: its connection was closed while it was idle.
      if (sent.status !== 202) wrong.push(`a message${sent.again ? ' that was sent again' : ''}: ${outcomeOf(sent)}`)
      else for (const { accepted } of isPost ? readers : [reader]) accepted.add(envelope.id)
      answered += 1
      const targets = ['/v2/events?limit=5', '/v2/inbox?limit=5', '/v2/budget', '/v2/webhook', `/v2/boards/${board}`]
      const target = targets[count % targets.length] ?? ''
      const read = await client.call(reader.agent, { method: 'GET', target })
      // Nobody has a webhook, which only its service can say.
      if (read.status !== (target === '/v2/webhook' ? 404 : 200)) wrong.push(`${target}: ${outcomeOf(read)}`)
      answered += 1
    }
  }

  async function listen({ agent, delivered }: Reader, index: number): Promise<void> {
    let last = 0
    for (let turn = index; !stopped; turn += 1) {
      const urls = client.ready()
      const url = urls[turn % urls.length] ?? ''
      try {
        using stream = await openEventStream(agent, '', {
          url,
          headers: { 'last-event-id': String(last) },
          onFrame({ event, id, data }) {
            if (event === undefined) return
            last = Number(id)
            if (event === 'message') delivered.push({ cursor: last, id: JSON.parse(data ?? '').message.envelope.id })
          },
        })
        if (stream.status !== 200) {
          // The lease of the one before is given back behind its end.
          if (stream.status !== 429) wrong.push(`a stream: ${stream.status} ${stream.text}`)
        } else {
          streams.add(stream)
          const end = await stream.over
          streams.delete(stream)
          const lastEvent = stream.frames.findLast(({ event }) => event !== undefined)?.event
          if (end === 'broken' || (end === 'ended' && lastEvent !== 'cursor'))
            wrong.push(`a stream was ${end} behind ${lastEvent}`)
        }
      } catch (error) {
        wrong.push(`a stream: ${error}`)
      }
      await new Promise((resolve) => setTimeout(resolve, REOPEN_MS))
    }
  }

  async function compare({ agent, accepted, delivered }: Reader): Promise<string[]> {
    const log: { cursor: number; id: string }[] = []
    for (let after = 0; ; ) {
      const { body } = await got(agent.get(`/v2/events?limit=100&after=${after}`))
      if (body.events.length === 0) break
      for (const { cursor, message } of body.events) log.push({ cursor, id: message.envelope.id })
      after = body.next_cursor
    }
    const found: string[] = []
    const ids = log.map(({ id }) => id)
    if (ids.length !== accepted.size || ids.some((id) => !accepted.has(id))) {
      found.push(`${accepted.size} messages were accepted, and ${ids.length} are there`)
    }
    if (log.some(({ cursor }, at) => cursor !== at + 1)) found.push('cursors have a gap')
    const caughtUp = eventually(() => delivered.length >= log.length, { timeoutMs: CAUGHT_UP_MS })
    await caughtUp.catch(() => found.push('a stream does not catch up'))
    if (JSON.stringify(delivered) !== JSON.stringify(log)) found.push('a stream lost, repeated or reordered something')
    return found
  }
}
