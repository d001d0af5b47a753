import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { BEAT_MS, Leadership, type Locks } from './leadership.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

interface Wish {
  readonly hold: () => Promise<void>
  readonly end: PromiseWithResolvers<void>
}

/** One lock, as the browser has it. */
function createLocks(): Locks {
  let holder: Wish | undefined
  const waiting: Wish[] = []
  const grant = (wish: Wish): void => {
    holder = wish
    const over = (): void => {
      if (holder !== wish) return
      holder = undefined
      const next = waiting.shift()
      if (next !== undefined) grant(next)
    }
    wish.hold().then(
      () => [wish.end.resolve(), over()],
      (error) => [wish.end.reject(error), over()],
    )
  }
  return {
    request(_, { signal, steal = false }, hold) {
      const wish = { hold, end: Promise.withResolvers<void>() }
      signal?.addEventListener('abort', () => {
        const index = waiting.indexOf(wish)
        if (index >= 0) waiting.splice(index, 1)
        if (index >= 0) wish.end.reject(signal.reason)
      })
      if (steal) {
        holder?.end.reject(new DOMException('stolen', 'AbortError'))
        grant(wish)
      } else if (holder === undefined) grant(wish)
      else waiting.push(wish)
      return wish.end.promise
    },
  }
}

/** Tabs of one agent. What a leader shows is heard by all tabs whose timers run. */
function createTabs(names: readonly string[]) {
  const locks = createLocks()
  const log: string[] = []
  const frozen = new Set<string>()
  const tabs = new Map<string, { leadership: Leadership; end: AbortController; fail: (error: unknown) => void }>()
  for (const name of names) {
    const end = new AbortController()
    const failing = Promise.withResolvers<void>()
    const leadership = new Leadership({
      name: 'agent',
      locks,
      signal: end.signal,
      lead(term) {
        log.push(`${name} leads`)
        const over = new Promise<void>((resolve) => {
          term.addEventListener('abort', () => [log.push(`${name} stops`), resolve()])
        })
        return Promise.race([over, failing.promise])
      },
      showLife() {
        if (!frozen.has(name)) for (const [other, tab] of tabs) if (other !== name) tab.leadership.hear()
      },
      onFailure: (error) => log.push(`${name} fails: ${error}`),
    })
    tabs.set(name, { leadership, end, fail: failing.reject })
  }
  return { tabs, log, frozen, leaders: () => names.filter((name) => tabs.get(name)?.leadership.isLeading) }
}

test('the first tab leads, and the next one follows as soon as it is closed', async () => {
  const { tabs, log } = createTabs(['a', 'b', 'c'])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(log).toEqual(['a leads'])
  tabs.get('a')?.end.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(log).toEqual(['a leads', 'a stops', 'b leads'])
})

test('a silent leader is replaced after 15 s, and not before', async () => {
  const { log, frozen, leaders } = createTabs(['a', 'b'])
  await vi.advanceTimersByTimeAsync(BEAT_MS)
  frozen.add('a')
  await vi.advanceTimersByTimeAsync(14_999)
  expect(log).toEqual(['a leads'])
  await vi.advanceTimersByTimeAsync(BEAT_MS)
  expect(log).toContain('b leads')
  expect(leaders()).toEqual(['b'])
})

test('a leader whose lock was taken stops, follows, and leads again when its turn comes', async () => {
  const { tabs, log, frozen, leaders } = createTabs(['a', 'b'])
  frozen.add('a')
  await vi.advanceTimersByTimeAsync(20_000)
  frozen.delete('a')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(log.sort()).toEqual(['a leads', 'a stops', 'b leads'])
  expect(leaders()).toEqual(['b'])
  tabs.get('b')?.end.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(leaders()).toContain('a')
})

test('of several followers one leads in the end', async () => {
  const { frozen, leaders } = createTabs(['a', 'b', 'c', 'd'])
  frozen.add('a')
  await vi.advanceTimersByTimeAsync(20_000)
  expect(leaders()).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(leaders()).toHaveLength(1)
  expect(leaders()).not.toEqual(['a'])
})

test('a leader that is refused says why, and the next tab asks itself', async () => {
  const { tabs, log, leaders } = createTabs(['a', 'b'])
  tabs.get('a')?.fail('revoked')
  await vi.advanceTimersByTimeAsync(0)
  expect(log).toEqual(['a leads', 'b leads', 'a stops', 'a fails: revoked'])
  expect(leaders()).toEqual(['b'])
})

test('a closed tab neither waits for the lock nor takes it', async () => {
  const { tabs, log, frozen } = createTabs(['a', 'b'])
  tabs.get('b')?.end.abort()
  frozen.add('a')
  await vi.advanceTimersByTimeAsync(60_000)
  tabs.get('a')?.end.abort()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(log).toEqual(['a leads', 'a stops'])
})
