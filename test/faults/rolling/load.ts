import { setTimeout as sleep } from 'node:timers/promises'
import { verifyWebhook } from '@svc/sdk/webhook/webhook-receiver.ts'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { newBoard, subscribe } from '../../support/client/boards.ts'
import { openEventStream, type TestStream } from '../../support/client/event-stream.ts'
import { readEvents } from '../../support/client/pages.ts'
import { eventually } from '../../support/eventually.ts'
import type { WebhookReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import type { Harness } from '../../support/system/harness.ts'
import type { TestSystem } from '../../support/system/system.ts'
import { callAfter } from './calls.ts'
import { createKeepAliveClient } from './keep-alive-client.ts'

/** The load during an upgrade: all agents send, read and listen, and none of them may notice the upgrade. */
export interface RollingLoad extends AsyncDisposable {
  /** Wrong answers, and streams that ended without a last cursor. */
  readonly wrong: readonly string[]
  /** Calls answered so far. */
  readonly answered: number
  /** Streams opened so far, and webhooks delivered so far. */
  readonly streams: number
  readonly deliveries: number
  /** Waits until the balancer has found all gateways ready. A rolling update waits like this before the next gateway. */
  allReady(): Promise<void>
  /** Runs the work while the balancer does not use this gateway. */
  without<T>(url: string, work: () => Promise<T>): Promise<T>
  /** Waits until this many more calls are answered. */
  more(count: number): Promise<void>
  /** Stops the load. @returns everything that is missing, duplicated or out of order. */
  finish(): Promise<string[]>
}

const SENDERS = 8
const MORE_LIMIT_MS = 60_000
const CAUGHT_UP_MS = 45_000
const REOPEN_MS = 50
/** Every fifth message is a post. */
const POST_EVERY = 5
const HOOK = { path: '/rolling', secret: 'the secret of the rolling load test' }

/** The part of a system that the load needs. */
interface RollingSystem {
  readonly system: Pick<TestSystem, 'urls'>
  agents(count: number): Promise<Agent[]>
}

/** Makes the rolling load's system from a harness. */
export const rollingSystem = (h: Harness): RollingSystem => ({ system: h.system, agents: (count) => h.agents(count) })

interface Reader {
  readonly agent: Agent
  readonly accepted: Set<string>
  /** Those of the ids above that are not posts. */
  readonly messages: Set<string>
  readonly delivered: { cursor: number; id: string }[]
}

interface LoadOptions {
  /** Receives the webhook of the first reader, if given. The system must allow its host as a target. */
  readonly receiver?: WebhookReceiver
  /** Pause of each sender after each message. Without a pause the load uses the whole machine. */
  readonly pauseMs?: number
  /** The addresses are of proxies in front of the gateways. */
  readonly behindProxy?: boolean
}

export async function startRollingLoad(
  h: RollingSystem,
  { receiver, pauseMs = 0, behindProxy = false }: LoadOptions = {},
): Promise<RollingLoad> {
  const client = createKeepAliveClient(h.system.urls, { behindProxy })
  const wrong: string[] = []
  const streams = new Set<TestStream>()
  const hooked = new Set<string>()
  let opened = 0
  let answered = 0
  let stopped = false
  const senders = await h.agents(SENDERS)
  const readers = (await h.agents(2)).map(
    (agent): Reader => ({ agent, accepted: new Set(), messages: new Set(), delivered: [] }),
  )
  const owner = nth(senders, 0)
  const board = await newBoard(owner, { posting: 'anyone' })
  for (const { agent } of readers) {
    await got(agent.patch('/v2/me', { inbox_policy: 'open' }))
    await subscribe(agent, board)
  }
  if (receiver !== undefined) await setHook(receiver)
  const working = senders.map(work)
  const listening = readers.map(listen)
  for (const done of [...working, ...listening]) done.catch((error: unknown) => wrong.push(String(error)))

  return {
    wrong,
    get answered() {
      return answered
    },
    get streams() {
      return opened
    },
    get deliveries() {
      return receiver?.at(HOOK.path).length ?? 0
    },
    async allReady() {
      const areFound = (): boolean => client.ready().length === h.system.urls.length
      await eventually(areFound, { timeoutMs: MORE_LIMIT_MS, what: 'the balancer finding every gateway ready' })
    },
    without: client.without,
    async more(count) {
      const target = answered + count
      await eventually(() => answered >= target || wrong.length > 0, { timeoutMs: MORE_LIMIT_MS, what: 'more answers' })
    },
    async finish() {
      stopped = true
      await Promise.allSettled(working)
      const found = await Promise.all([...readers.map(compare), compareHook()])
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
      if (pauseMs > 0) await sleep(pauseMs)
      const reader = nth(readers, index + count)
      const isPost = count % POST_EVERY === POST_EVERY - 1
      const envelope = sender.envelope(isPost ? `board:${board}` : reader.agent, count)
      const sent = await client.call(sender, { method: 'POST', target: '/v2/messages', body: envelope })
      // a resent request had no earlier effect, because its idle connection was already closed
      answered += 1
      if (sent.status !== 202) {
        wrong.push(`a message${sent.again ? ' that was sent again' : ''}: ${outcomeOf(sent)}`)
        continue
      }
      for (const { accepted, messages } of isPost ? readers : [reader]) {
        accepted.add(envelope.id)
        if (!isPost) messages.add(envelope.id)
      }
      const posts = Math.floor((count + 1) / POST_EVERY)
      const { agent, outgoing, status } = callAfter(isPost, isPost ? posts : count - posts, {
        sender,
        other: nth(senders, index + 1),
        reader: reader.agent,
        hooked: reader === readers[0] && receiver !== undefined,
        board,
        owner,
        message: envelope.id,
        count,
      })
      const answer = await client.call(agent, outgoing)
      if (answer.status !== status) wrong.push(`${outgoing.method} ${outgoing.target}: ${outcomeOf(answer)}`)
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
          // the lease of the previous stream is released only after its end
          if (stream.status !== 429) wrong.push(`a stream: ${stream.status} ${stream.text}`)
        } else {
          streams.add(stream)
          opened += 1
          const end = await stream.over
          streams.delete(stream)
          const lastEvent = stream.frames.findLast(({ event }) => event !== undefined)?.event
          if (end === 'broken' || (end === 'ended' && lastEvent !== 'cursor'))
            wrong.push(`a stream was ${end} after ${lastEvent}`)
        }
      } catch (error) {
        wrong.push(`a stream: ${error}`)
      }
      await new Promise((resolve) => setTimeout(resolve, REOPEN_MS))
    }
  }

  async function compare({ agent, accepted, delivered }: Reader): Promise<string[]> {
    const log = (await readEvents(agent)).map(({ cursor, message }) => ({ cursor, id: message.envelope.id }))
    const found: string[] = []
    const ids = log.map(({ id }) => id)
    if (ids.length !== accepted.size || ids.some((id) => !accepted.has(id))) {
      found.push(`${accepted.size} messages were accepted, but ${ids.length} are stored`)
    }
    if (log.some(({ cursor }, at) => cursor !== at + 1)) found.push('cursors have a gap')
    const caughtUp = eventually(() => delivered.length >= log.length, { timeoutMs: CAUGHT_UP_MS })
    await caughtUp.catch(() => found.push('a stream did not catch up'))
    if (JSON.stringify(delivered) !== JSON.stringify(log)) found.push('a stream lost, repeated or reordered something')
    return found
  }

  async function setHook(to: WebhookReceiver): Promise<void> {
    to.answer(HOOK.path, async ({ headers, body }, response) => {
      try {
        hooked.add((await verifyWebhook(headers, body, { secret: HOOK.secret })).messageId)
        response.writeHead(204).end()
      } catch (error) {
        wrong.push(`a webhook: ${error}`)
        response.writeHead(400).end()
      }
    })
    await got(nth(readers, 0).agent.put('/v2/webhook', { url: to.urlFor(HOOK.path), secret: HOOK.secret }))
  }

  /** Checks that each inbox message was delivered at least once, and nothing else. */
  async function compareHook(): Promise<string[]> {
    if (receiver === undefined) return []
    const { messages } = nth(readers, 0)
    const found: string[] = []
    const arrived = eventually(() => [...messages].every((id) => hooked.has(id)), { timeoutMs: CAUGHT_UP_MS })
    await arrived.catch(() => found.push(`${messages.size} webhooks were due, but ${hooked.size} came`))
    if ([...hooked].some((id) => !messages.has(id))) found.push('a webhook came that was not due')
    return found
  }
}

function nth<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length]
  if (item === undefined) throw new RangeError('there is at least one')
  return item
}
