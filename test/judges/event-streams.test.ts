/**
 * Common clients of server-sent events over connections that are cut at random bytes. Each uses its own way to reconnect,
 * with a fresh signature (docs/guides/receiving.md). Source: spec 9.7.
 */
import { fetchEventSource } from '@microsoft/fetch-event-source'
import { EventSource } from 'eventsource'
import { createEventSource } from 'eventsource-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createRandom } from '../faults/workload/random.ts'
import type { Agent } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { newBoard, subscribe } from '../support/client/boards.ts'
import { eventually } from '../support/eventually.ts'
import { startCuttingProxy } from '../support/stand-ins/cutting-proxy.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'
import { type ExpectedFailures, expectOnly } from './expected.ts'

let h: SharedHarness
beforeAll(async () => {
  // @microsoft/fetch-event-source asks for both when it starts and ends.
  vi.stubGlobal('window', globalThis)
  vi.stubGlobal('document', new EventTarget())
  h = await shareHarness('roomy')
})
afterAll(async () => {
  vi.unstubAllGlobals()
  await h[Symbol.asyncDispose]()
})

const POSTS_BEFORE = 30
const POSTS_DURING = 15
/** From within the header of an answer to a few frames. */
const CUT_BYTES = [1, 1_800] as const
const LIMIT_MS = 60_000

const TARGET = '/v2/stream'

/** One complete event, as a client passes it on. */
interface Received {
  /** `message`, or `cursor`. */
  readonly event: string
  readonly data: string
  readonly id: string
}

/** Starts to receive. @returns a function that stops. */
type Client = (url: string, agent: Agent, receive: (event: Received) => void) => () => void

/** Signs each request anew. `last` replaces the client's own `Last-Event-ID`. */
function signing(agent: Agent, last?: () => string) {
  return (async (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(agent.sign('GET', TARGET))) headers.set(name, value)
    if (last !== undefined) headers.set('last-event-id', last())
    return fetch(url, { ...init, headers })
  }) as typeof fetch
}

/** Stops for ever at a status other than 200, so it is made anew, after the last event that it brought. */
const eventSource: Client = (url, agent, receive) => {
  let last = '0'
  let source: EventSource
  const start = (): void => {
    source = new EventSource(url + TARGET, { fetch: signing(agent, () => last) as never })
    for (const event of ['message', 'cursor']) {
      source.addEventListener(event, ({ data, lastEventId }) => {
        last = lastEventId
        receive({ event, data, id: lastEventId })
      })
    }
    source.addEventListener('error', () => {
      if (source.readyState === source.CLOSED) setTimeout(start, 20)
    })
  }
  start()
  return () => source.close()
}

const eventSourceClient: Client = (url, agent, receive) => {
  const source = createEventSource({
    url: url + TARGET,
    fetch: signing(agent) as never,
    onMessage: ({ event = 'message', data, id = '' }) => receive({ event, data, id }),
  })
  return () => source.close()
}

/** Takes an id as soon as its line is read. With `ownLast` it continues after the last complete event instead. */
const fetchEvents =
  (ownLast: boolean): Client =>
  (url, agent, receive) => {
    const stop = new AbortController()
    let last = '0'
    void fetchEventSource(url + TARGET, {
      signal: stop.signal,
      openWhenHidden: true,
      fetch: ownLast ? signing(agent, () => last) : signing(agent),
      onmessage: ({ event, data, id }) => {
        receive({ event, data, id })
        if (id !== '') last = id
      },
      onclose() {
        throw new Error('the service has ended the stream: connect again')
      },
    })
    return () => stop.abort()
  }

/** The last column: whether cuts also fall between the id of an event and its end. */
const CLIENTS: [name: string, start: Client, atTheEnd: boolean][] = [
  ['eventsource', eventSource, true],
  ['eventsource-client', eventSourceClient, true],
  ['@microsoft/fetch-event-source', fetchEvents(false), false],
  ['@microsoft/fetch-event-source, also cut after an id', fetchEvents(false), true],
  ['@microsoft/fetch-event-source, told where to resume', fetchEvents(true), true],
]

const LOSSES: ExpectedFailures = {
  '@microsoft/fetch-event-source, also cut after an id':
    'takes an id when it reads its line, before the empty line that ends the event, so it asks for what comes after an event that it never passed on',
}

interface Outcome {
  readonly name: string
  readonly cursors: number[]
  readonly cuts: number
}

/** Receives over cut connections, until the client stands behind event `count`. */
async function receiveAll(
  [name, start, atTheEnd]: (typeof CLIENTS)[number],
  reader: Agent,
  count: number,
): Promise<Outcome> {
  await using proxy = await startCuttingProxy({
    target: h.place.url,
    random: createRandom(1).fork(name),
    bytes: CUT_BYTES,
    atTheEnd,
  })
  const cursors: number[] = []
  let last = ''
  const stop = start(proxy.url, reader, ({ event, data, id }) => {
    if (event === 'message') cursors.push(JSON.parse(data).cursor)
    last = id
  })
  try {
    await eventually(() => last === String(count), { timeoutMs: LIMIT_MS, what: `all events for ${name}` })
  } finally {
    stop()
  }
  return { name, cursors, cuts: proxy.cuts }
}

test('spec 9.7: common clients lose and repeat nothing over hundreds of cuts at random bytes', {
  timeout: 2 * LIMIT_MS,
}, async () => {
  const [author] = await h.agents(1)
  const readers = await h.agents(CLIENTS.length)
  const board = await newBoard(author)
  await Promise.all(readers.map((reader) => subscribe(reader, board)))
  const post = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 1) await got(author.send(`board:${board}`, 'é'.repeat((sent * 37) % 200)))
  }
  await post(POSTS_BEFORE)
  const count = POSTS_BEFORE + POSTS_DURING
  const receiving = CLIENTS.map((client, at) => receiveAll(client, readers[at] as Agent, count))
  await post(POSTS_DURING)
  const all = Array.from({ length: count }, (_, at) => at + 1)
  const outcomes = await Promise.all(receiving)
  // A client that skips events is cut less often.
  for (const { name, cuts } of outcomes) expect(cuts, name).toBeGreaterThan(name in LOSSES ? 5 : 50)
  const differing = outcomes.filter(({ cursors }) => cursors.join() !== all.join())
  expectOnly(
    differing.map(({ name }) => name),
    LOSSES,
  )
})
