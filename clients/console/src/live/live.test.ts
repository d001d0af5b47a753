import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import type { StreamOptions } from '@svc/sdk/events/event-stream.ts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LiveMessage } from './channel.ts'
import { BEAT_MS, type Locks } from './leadership.ts'
import { Live, type LivePlatform } from './live.ts'

beforeEach(() => {
  vi.useFakeTimers()
  const browser = new EventTarget()
  vi.stubGlobal('addEventListener', browser.addEventListener.bind(browser))
  vi.stubGlobal('removeEventListener', browser.removeEventListener.bind(browser))
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const eventAt = (cursor: number) => ({ cursor, kind: 'inbox' }) as Event

/** The log of the service. Streams and pages read it. */
function createService() {
  const log: number[] = []
  const wakers = new Set<() => void>()
  const service = {
    refusal: undefined as ApiError | undefined,
    open: 0,
    opened: [] as (number | undefined)[],
    add(cursor: number) {
      log.push(cursor)
      for (const wake of wakers) wake()
    },
  }
  const after = (cursor: number) => log.filter((one) => one > cursor)
  const client = {
    async *stream({ after: start, signal, onOpen, silenceMs }: StreamOptions) {
      if (service.refusal !== undefined) throw service.refusal
      service.opened.push(silenceMs)
      service.open += 1
      let cursor = Number(start)
      onOpen?.({ earliest: 1, latest: log.at(-1) ?? 0 } as never)
      try {
        for (;;) {
          for (const next of after(cursor)) {
            cursor = next
            yield eventAt(next)
          }
          await new Promise<void>((resolve, reject) => {
            wakers.add(resolve)
            signal?.addEventListener('abort', () => reject(signal.reason))
          })
        }
      } finally {
        service.open -= 1
      }
    },
    events: ({ after: start = 0 }) => ({
      async *pages() {
        yield { items: after(start).map(eventAt), next: Math.max(start, ...log) }
      },
    }),
  } as unknown as AgentClient
  return { service, client }
}

interface Tab {
  readonly live: Live
  readonly seen: number[]
  readonly stopped: unknown[]
  /** A frozen tab neither speaks nor hears. What it is told waits for it. */
  isFrozen: boolean
  readonly missed: LiveMessage[]
  readonly hear: (message: LiveMessage) => void
}

function createBrowser(client: AgentClient) {
  const tabs: Tab[] = []
  let holder: { release: (error: unknown) => void } | undefined
  const waiting: (() => void)[] = []
  const locks: Locks = {
    request(_, { steal = false, signal }, hold) {
      const end = Promise.withResolvers<void>()
      const take = async (): Promise<void> => {
        const mine = { release: end.reject }
        holder = mine
        await Promise.resolve()
        await hold().then(end.resolve, end.reject)
        if (holder === mine) {
          holder = undefined
          waiting.shift()?.()
        }
      }
      signal?.addEventListener('abort', () => {
        const index = waiting.indexOf(take)
        if (index >= 0) waiting.splice(index, 1)
        if (index >= 0) end.reject(signal.reason)
      })
      if (steal) holder?.release(new DOMException('stolen', 'AbortError'))
      if (steal || holder === undefined) void take()
      else waiting.push(take)
      return end.promise
    },
  }
  function open(): Tab {
    const [seen, stopped, missed] = [[] as number[], [] as unknown[], [] as LiveMessage[]]
    const platform: LivePlatform = {
      locks,
      openChannel: (_, hear) => {
        Object.assign(tab, { hear })
        return {
          tell(message) {
            if (tab.isFrozen) return
            for (const other of tabs) {
              if (other === tab) continue
              if (other.isFrozen) other.missed.push(message)
              else queueMicrotask(() => other.hear(message))
            }
          },
          [Symbol.dispose]() {},
        }
      },
    }
    const tab = { seen, stopped, missed, isFrozen: false } as unknown as Tab
    const options = {
      client,
      agentId: 'a',
      after: 0,
      onEvent: ({ cursor }: Event) => void seen.push(cursor),
      onCursor: () => {},
      onStopped: (cause: unknown) => void stopped.push(cause),
    }
    tabs.push(tab)
    Object.assign(tab, { live: new Live(options, platform) })
    return tab
  }
  return { open }
}

const pass = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

test('all tabs share one stream, and each shows every event once', async () => {
  const { service, client } = createService()
  const { open } = createBrowser(client)
  const [first, second] = [open(), open()]
  await pass()
  service.add(3)
  await pass(BEAT_MS)
  service.add(5)
  await pass()
  expect([service.open, first.seen, second.seen]).toEqual([1, [3, 5], [3, 5]])
  expect([first.live.state.value, second.live.state.value]).toEqual(['live', 'live'])
})

test('a frozen leader is replaced, and no event is lost or shown twice, also not in the frozen tab', async () => {
  const { service, client } = createService()
  const { open } = createBrowser(client)
  const [first, second] = [open(), open()]
  await pass()
  service.add(1)
  await pass()
  first.isFrozen = true
  service.add(2)
  await pass(20_000)
  service.add(4)
  await pass()
  expect(second.seen).toEqual([1, 2, 4])
  first.isFrozen = false
  for (const message of first.missed.splice(0)) first.hear(message)
  service.add(7)
  await pass(BEAT_MS)
  expect([first.seen, second.seen]).toEqual([
    [1, 2, 4, 7],
    [1, 2, 4, 7],
  ])
  expect(service.open).toBe(1)
})

test('a stream counts as dead if it is silent for longer than the service ever is', async () => {
  const { service, client } = createService()
  createBrowser(client).open()
  await pass()
  expect(service.opened).toEqual([25_000])
})

test('a tab says why nothing more can be read', async () => {
  const { service, client } = createService()
  service.refusal = new ApiError({ status: 401, code: 'signer_revoked', message: 'revoked' })
  const { open } = createBrowser(client)
  const [first, second] = [open(), open()]
  await pass()
  for (const { live, stopped } of [first, second])
    expect([live.state.value, stopped]).toEqual(['stopped', [service.refusal]])
})
