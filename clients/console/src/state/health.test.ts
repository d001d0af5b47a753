import { ApiError, NetworkError } from '@svc/sdk/errors.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Health } from './health.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})

type Service = 'works' | 'is down' | 'hangs'

const json = (status: number): Response => Response.json({}, { status })
const refusal = (status: number): ApiError => new ApiError({ status, code: 'x', message: 'x' })

/** An agent whose service works until a test says otherwise. */
function sceneOf({ isVisible = true } = {}) {
  const ended = new AbortController()
  const scene = { service: 'works' as Service, isVisible, probes: 0, ended }
  const health = new Health({
    ended: ended.signal,
    isVisible: () => scene.isVisible,
    probe: () => {
      scene.probes += 1
      if (scene.service === 'works') return Promise.resolve()
      return scene.service === 'hangs' ? new Promise(() => {}) : Promise.reject(refusal(503))
    },
  })
  const answerTo = (init?: RequestInit): Promise<Response> => {
    if (scene.service === 'works') return Promise.resolve(json(200))
    if (scene.service === 'is down') return Promise.resolve(json(503))
    return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
  }
  const send = health.watch((_, init) => answerTo(init))
  health.look()
  return { scene, health, call: (init?: RequestInit) => void send('https://service.test/', init).catch(() => {}) }
}

type Scene = ReturnType<typeof sceneOf>
const becomes =
  (service: Service) =>
  ({ scene }: Scene): void => {
    scene.service = service
  }
const calls = ({ call }: Scene): void => call()

describe('the state of the service, by what happens when', () => {
  test.each<[string, [number, (scene: Scene) => void][], [number, 'ok' | 'failing'][]]>([
    [
      'one lost request',
      [
        [0, becomes('is down')],
        [0, calls],
        [500, becomes('works')],
      ],
      [
        [900, 'ok'],
        [5_000, 'ok'],
      ],
    ],
    [
      'an outage, and somebody sends',
      [
        [0, becomes('is down')],
        [0, calls],
      ],
      [
        [900, 'ok'],
        [1_100, 'failing'],
      ],
    ],
    [
      'a service that hangs',
      [
        [0, becomes('hangs')],
        [0, calls],
      ],
      [
        [4_400, 'ok'],
        [4_600, 'failing'],
      ],
    ],
    [
      'a slow answer of a service that works',
      [
        [0, becomes('hangs')],
        [0, calls],
        [2_000, becomes('works')],
      ],
      [[9_000, 'ok']],
    ],
    [
      'an outage while nothing is called',
      [[0, becomes('is down')]],
      [
        [3_900, 'ok'],
        [4_100, 'failing'],
      ],
    ],
    [
      'a lost question',
      [
        [0, becomes('is down')],
        [3_500, becomes('works')],
      ],
      [
        [3_900, 'ok'],
        [30_000, 'ok'],
      ],
    ],
    [
      'the end of an outage',
      [
        [0, becomes('is down')],
        [0, calls],
        [8_000, becomes('works')],
      ],
      [
        [7_900, 'failing'],
        [11_100, 'ok'],
      ],
    ],
    [
      'the end of an outage that a request notices',
      [
        [0, becomes('is down')],
        [0, calls],
        [8_000, becomes('works')],
        [8_000, calls],
      ],
      [
        [7_900, 'failing'],
        [8_001, 'ok'],
      ],
    ],
    [
      'a second outage soon after the first',
      [
        [0, becomes('is down')],
        [0, calls],
        [5_000, becomes('works')],
        [8_000, becomes('is down')],
        [8_000, calls],
      ],
      [
        [7_900, 'ok'],
        [9_100, 'failing'],
      ],
    ],
    [
      'the network goes',
      [
        [1_000, becomes('is down')],
        [1_000, ({ health }) => health.loseNetwork()],
      ],
      [
        [999, 'ok'],
        [1_000, 'failing'],
      ],
    ],
    [
      'a service on this machine, which needs no network',
      [[1_000, ({ health }) => health.loseNetwork()]],
      [
        [1_001, 'ok'],
        [60_000, 'ok'],
      ],
    ],
    [
      'the network comes back',
      [
        [0, becomes('is down')],
        [0, ({ health }) => health.loseNetwork()],
        [500, becomes('works')],
        [500, ({ health }) => health.findNetwork()],
      ],
      [
        [400, 'failing'],
        [501, 'ok'],
      ],
    ],
    [
      'a hidden page in an outage, which asks seldom',
      [
        [0, becomes('is down')],
        [0, calls],
        [2_000, ({ scene }) => Object.assign(scene, { isVisible: false })],
        [2_000, ({ health }) => health.look()],
        [2_000, becomes('works')],
      ],
      [
        [31_000, 'failing'],
        [32_100, 'ok'],
      ],
    ],
    [
      'a hidden page does not ask, and asks when it is shown',
      [
        [0, ({ scene }) => Object.assign(scene, { isVisible: false })],
        [0, becomes('is down')],
        [0, calls],
        [60_000, ({ scene }) => Object.assign(scene, { isVisible: true })],
        [60_000, ({ health }) => health.look()],
      ],
      [
        [59_000, 'ok'],
        [60_001, 'failing'],
      ],
    ],
  ])('%s', async (_, script, expected) => {
    const scene = sceneOf()
    const steps = [
      ...script.map(([at, act]) => ({ at, run: () => act(scene) })),
      ...expected.map(([at, state]) => ({
        at,
        run: () => expect([at, scene.health.state.value]).toEqual([at, state]),
      })),
    ].sort((a, b) => a.at - b.at)
    let now = 0
    for (const { at, run } of steps) {
      await vi.advanceTimersByTimeAsync(at - now)
      now = at
      run()
    }
  })
})

test('an outage began with the first request that failed, and has no beginning after its end', async () => {
  const { scene, health, call } = sceneOf()
  await vi.advanceTimersByTimeAsync(700)
  scene.service = 'is down'
  call()
  await vi.advanceTimersByTimeAsync(3_000)
  expect(health.sinceMs.value).toBe(700)
  scene.service = 'works'
  await vi.advanceTimersByTimeAsync(3_000)
  expect(health.sinceMs.value).toBeUndefined()
})

test('a task is not waited for while the service fails', async () => {
  const { scene, health } = sceneOf()
  expect(await health.unlessFailing(Promise.resolve('done'))).toBe('done')
  const waiting = health.unlessFailing(new Promise(() => {}))
  scene.service = 'is down'
  health.loseNetwork()
  await expect(waiting).rejects.toThrow(NetworkError)
  await expect(health.unlessFailing(new Promise(() => {}))).rejects.toThrow(NetworkError)
})

test('a closed agent asks nothing more', async () => {
  const { scene } = sceneOf()
  scene.ended.abort()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(scene.probes).toBe(0)
})

test('a working service is asked only if nothing else was, and a failing one every 3 s', async () => {
  const { scene, call } = sceneOf()
  for (let at = 0; at < 60_000; at += 2_000) {
    call()
    await vi.advanceTimersByTimeAsync(2_000)
  }
  expect(scene.probes).toBe(0)
  scene.service = 'is down'
  call()
  await vi.advanceTimersByTimeAsync(1_000 + 3 * 3_000)
  expect(scene.probes).toBe(4)
})

test.each<[string, () => Promise<Response>, boolean]>([
  ['an answer', async () => json(200), false],
  ['a refusal', async () => json(403), false],
  ['a fault of one call', async () => json(500), false],
  ['too many requests', async () => json(429), false],
  ['an overloaded service', async () => json(503), true],
  ['a proxy without a service', async () => new Response('Bad gateway', { status: 502 }), true],
  [
    'the login page of a network',
    async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    true,
  ],
  ['no network', async () => Promise.reject(new TypeError('Failed to fetch')), true],
])('%s is a suspicion: %s', async (_, answer, isSuspicion) => {
  let probes = 0
  const probe = async (): Promise<void> => {
    probes += 1
  }
  const health = new Health({ probe, ended: new AbortController().signal, isVisible: () => true })
  await health
    .watch(answer)('https://service.test/')
    .catch(() => {})
  await vi.advanceTimersByTimeAsync(1_000)
  expect(probes).toBe(isSuspicion ? 1 : 0)
})

test.each([
  ['a cancelled request', new DOMException('cancelled', 'AbortError'), 0],
  ['a timeout', new DOMException('timed out', 'TimeoutError'), 1],
])('%s', async (_, reason, expected) => {
  const { scene, call } = sceneOf()
  scene.service = 'hangs'
  const control = new AbortController()
  call({ signal: control.signal })
  control.abort(reason)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(scene.probes).toBe(expected)
})

test.each([
  [refusal(403), 'ok'],
  [refusal(503), 'failing'],
  [new NetworkError('lost'), 'failing'],
])('a question that ends with %s says %s', async (error, expected) => {
  const probe = (): Promise<never> => Promise.reject(error)
  const health = new Health({ probe, ended: new AbortController().signal, isVisible: () => true })
  await health.check()
  await health.check()
  expect(health.state.value).toBe(expected)
})
