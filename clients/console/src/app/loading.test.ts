import { expect, test, vi } from 'vitest'
import { addressIn, Loading } from './loading.ts'

/** The result of one try: the answer to the request of the file, and whether the import fails. */
interface Outcome {
  readonly fetched: number | 'no network'
  readonly imported?: 'fails'
}

/** @returns the state and the number of failures at each pause, the last state, and the number of imports. */
async function run(script: readonly Outcome[]) {
  const states: string[] = []
  let tries = 0
  let imports = 0
  const current = (): Outcome => script[Math.min(tries, script.length) - 1] ?? { fetched: 200 }
  const loading = new Loading({
    parts: [
      {
        address: 'https://service.test/console/pages.js',
        load: async () => {
          imports += 1
          if (current().imported === 'fails') throw new TypeError('Failed to fetch dynamically imported module')
        },
      },
    ],
    fetch: async () => {
      tries += 1
      const { fetched } = current()
      if (fetched === 'no network') throw new TypeError('Failed to fetch')
      return new Response('', { status: fetched })
    },
    pause: async (failures) => void states.push(`${loading.state.value} ${failures}`),
  })
  await loading.start()
  return { states: [...states, loading.state.value], imports }
}

const ok: Outcome = { fetched: 200 }
test.each<[string, Outcome[], string[], number]>([
  ['is there', [ok], ['loaded'], 1],
  ['has no network', [{ fetched: 'no network' }, ok], ['waiting 1', 'loaded'], 1],
  [
    'meets an outage',
    [{ fetched: 503 }, { fetched: 502 }, { fetched: 503 }, ok],
    ['waiting 1', 'waiting 2', 'waiting 3', 'loaded'],
    1,
  ],
  ['is gone', [{ fetched: 404 }, { fetched: 404 }, ok], ['waiting 1', 'outdated 2', 'loaded'], 1],
  ['is on one gateway only', [{ fetched: 404 }, ok], ['waiting 1', 'loaded'], 1],
  [
    'meets an outage between two answers',
    [{ fetched: 404 }, { fetched: 503 }, { fetched: 404 }, ok],
    ['waiting 1', 'waiting 2', 'waiting 3', 'loaded'],
    1,
  ],
  [
    'is kept as failed by an older browser',
    [{ fetched: 200, imported: 'fails' }, { fetched: 200, imported: 'fails' }, ok],
    ['waiting 1', 'outdated 2', 'loaded'],
    3,
  ],
])('a file that %s', async (_, script, states, imports) => {
  expect(await run(script)).toEqual({ states, imports })
})

test('what is loaded is not loaded again, and the rest is', async () => {
  const asked: string[] = []
  let isDown = true
  const loading = new Loading({
    parts: [{ address: 'https://service.test/a.js' }, { address: 'https://service.test/b.js' }],
    fetch: async (address) => {
      asked.push(String(address).slice(-4))
      if (!isDown || asked.length === 1) return new Response('')
      isDown = false
      throw new TypeError('Failed to fetch')
    },
    pause: async () => {},
  })
  await Promise.all([loading.start(), loading.start()])
  expect(asked).toEqual(['a.js', 'b.js', 'b.js'])
})

test('Try again ends the pause', async () => {
  let isDown = true
  const loading = new Loading({
    parts: [{ address: 'https://service.test/a.js' }],
    fetch: async () => (isDown ? Promise.reject(new TypeError('Failed to fetch')) : new Response('')),
    pause: (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  })
  const loaded = loading.start()
  await vi.waitFor(() => expect(loading.state.value).toBe('waiting'))
  isDown = false
  void loading.start()
  await loaded
  expect(loading.state.value).toBe('loaded')
})

test.each([
  ['()=>import("/console/pages-AB12.js")', 'https://service.test/console/pages-AB12.js'],
  ['()=>import("./pages-AB12.js")', 'https://service.test/console/pages-AB12.js'],
  ['()=>import("./seal-AB12.js").then(t=>t)', 'https://service.test/console/seal-AB12.js'],
  ['() => load()', undefined],
])('%s is at %s', (source, address) => {
  const load = Object.assign(() => Promise.resolve(), { toString: () => source })
  expect(addressIn(load, 'https://service.test/console/main-1.js')).toBe(address)
})
