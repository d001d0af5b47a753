import type { Call } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Cost, createCharging, PriceChanged } from './charging.ts'
import type { Reservation } from './fences.ts'

const COST: Cost = { operation: 'messaging:1', agentId: 'agent', units: 2, introductionPeer: null }
const DEADLINE_MS = 1_000_000

/** Charging with a fake budget and a fake owner's database. It records the calls to them, in order. */
function setUp({
  settled = false,
  shared = false,
  committed = false,
  inFlight = 0,
  failing = [],
}: {
  settled?: boolean
  shared?: boolean
  committed?: boolean
  /** The number of fences that meet a commit in flight. */
  inFlight?: number
  failing?: string[]
} = {}) {
  const steps: string[] = []
  let met = 0
  const step = (name: string, detail: unknown): void => {
    steps.push(`${name} ${JSON.stringify(detail)}`)
    if (failing.includes(name)) throw new ServiceError('unavailable')
  }
  const bus: Bus = {
    inFlight: 0,
    async call<Q, R>(call: Call<Q, R>, request: Q): Promise<R> {
      step(call.subject.replace('svc.budget.', ''), request)
      const reply: unknown = call.subject.endsWith('reserve') ? { deadline_ms: DEADLINE_MS, settled, shared } : {}
      if (!call.isRequest(request) || !call.isReply(reply)) throw new Error('this breaks the contract')
      return reply
    },
    callText: () => Promise.reject(new Error('nothing calls for text')),
  }
  const fences = {
    async fence(items: readonly Reservation[]) {
      step('fence', items)
      met += 1
      return items.map(() => (met > inFlight ? committed : undefined))
    },
  }
  const charging = createCharging({
    owner: 'messaging',
    bus,
    logger: createLogger('test', 'silent'),
    fences,
    holdMs: 7,
  })
  const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 }
  return {
    steps,
    names: () => steps.map((text) => text.split(' ')[0]),
    charge: <T>(commit: (reservation: Reservation) => Promise<T>, cost: Partial<Cost> = {}) =>
      charging.charge({ ...COST, agentId: AGENT, ...cost }, context, (reservation) => {
        steps.push('commit')
        return commit(reservation)
      }),
    cancel: async () => {
      const cost = { ...COST, agentId: AGENT }
      await charging.cancel(await charging.reserve(cost, context), context)
    },
    abandon: (deadlineMs: number) => charging.abandon({ operation: COST.operation, deadlineMs }, context),
  }
}
const AGENT = '1'.repeat(44)

describe('charge', () => {
  test('ADR 21: reserves, commits, and settles when the caller has its answer', async () => {
    const { charge, steps } = setUp()
    const commits: Reservation[] = []
    const result = await charge(async (reservation) => {
      commits.push(reservation)
      return 'done'
    })
    expect(result).toBe('done')
    expect(commits).toEqual([{ operation: 'messaging:1', deadlineMs: DEADLINE_MS }])
    const request = {
      operation: 'messaging:1',
      owner: 'messaging',
      agent_id: AGENT,
      units: 2,
      introduction_peer: null,
      hold_ms: 7,
    }
    expect(steps.slice(0, 2)).toEqual([`reserve ${JSON.stringify(request)}`, 'commit'])
    await eventually(() => steps.length === 3)
    expect(steps[2]).toBe('settle-soon {"operations":["messaging:1"]}')
  })

  test('charges that end together are settled together', async () => {
    const { charge, steps } = setUp()
    await Promise.all([1, 2, 3].map((at) => charge(async () => at, { operation: `messaging:${at}` })))
    await eventually(() => steps.some((step) => step.startsWith('settle-soon')))
    expect(steps.at(-1)).toBe('settle-soon {"operations":["messaging:1","messaging:2","messaging:3"]}')
  })

  test('without a reservation nothing is committed', async () => {
    const { charge, names } = setUp({ failing: ['reserve'] })
    await expect(charge(async () => 'done')).rejects.toMatchObject({ code: 'unavailable' })
    expect(names()).toEqual(['reserve'])
  })

  test.each([
    ['a definite failure', new ServiceError('admission_denied'), ['reserve', 'commit', 'fence', 'release']],
    ['a commit that knows it had no effect', new PriceChanged(), ['reserve', 'commit', 'fence', 'release']],
    ['a lost database', new ServiceError('unavailable'), ['reserve', 'commit']],
    ['a fault', new ServiceError('internal'), ['reserve', 'commit']],
    ['anything else', new TypeError('x'), ['reserve', 'commit']],
  ])(
    '%s: the caller gets the error; the charge is released before the answer, but only if the commit certainly did not happen',
    async (_what, error, expected) => {
      const { charge, names } = setUp()
      const failing = charge(() => Promise.reject(error))
      await expect(failing).rejects.toBe(error)
      expect(names()).toEqual(expected)
    },
  )

  test('if another attempt has committed after all, the charge is settled, not released', async () => {
    const { charge, names } = setUp({ committed: true })
    await expect(charge(() => Promise.reject(new ServiceError('id_conflict')))).rejects.toMatchObject({
      code: 'id_conflict',
    })
    expect(names()).toEqual(['reserve', 'commit', 'fence', 'settle'])
  })

  test.each(['fence', 'release'])(
    'if the %s fails, the caller gets the error of the commit, and the resolver does the rest',
    async (failing) => {
      const { charge } = setUp({ failing: [failing] })
      await expect(charge(() => Promise.reject(new ServiceError('forbidden')))).rejects.toMatchObject({
        code: 'forbidden',
      })
    },
  )

  test('a failed settle is not reported to the caller', async () => {
    const { charge, names } = setUp({ failing: ['settle-soon'] })
    expect(await charge(async () => 'done')).toBe('done')
    await eventually(() => names().includes('settle-soon'))
  })

  test.each([
    ['done', async () => 'done'],
    ['failed', () => Promise.reject(new ServiceError('forbidden'))],
  ])('an operation that was already settled causes no more calls to budget: %s', async (_how, commit) => {
    vi.useFakeTimers()
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { charge, names } = setUp({ settled: true })
    await charge(commit).catch(() => undefined)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(names()).toEqual(['reserve', 'commit'])
  })

  test.each([
    ['of another owner', { operation: 'identity:1' }],
    ['free', { units: 0 }],
    ['by half', { units: 1.5 }],
  ])('spec 11.2: nothing %s is charged here', async (_what, cost) => {
    const { charge, steps } = setUp()
    await expect(charge(async () => 'done', cost)).rejects.toThrow(RangeError)
    expect(steps).toEqual([])
  })
})

describe('cancel', () => {
  test('an attempt that never reached a commit is released without a fence, up to its own deadline', async () => {
    const { cancel, names, steps } = setUp()
    await cancel()
    expect(names()).toEqual(['reserve', 'release'])
    expect(steps[1]).toBe(`release {"operation":"messaging:1","deadline_ms":${DEADLINE_MS}}`)
  })

  test.each([
    ['is released behind a fence', false, 'release'],
    ['is settled if another attempt was committed', true, 'settle'],
  ])(
    'spec 11.3: a shared reservation leaves no trace when the last of its attempts is refused: it %s',
    async (_what, committed, then) => {
      const { cancel, names } = setUp({ shared: true, committed })
      await cancel()
      expect(names()).toEqual(['reserve', 'fence', then])
    },
  )

  test('a settled charge is not released', async () => {
    const { cancel, names } = setUp({ settled: true })
    await cancel()
    expect(names()).toEqual(['reserve'])
  })

  test.each([
    ['release', false],
    ['fence', true],
  ])('if the %s fails, the resolver releases the charge', async (failing, shared) => {
    const { cancel, names } = setUp({ failing: [failing], shared })
    await cancel()
    expect(names()).toEqual(['reserve', failing])
  })
})

describe('abandon', () => {
  test.each([
    [true, 'settle {"operation":"messaging:1"}'],
    [false, 'release {"operation":"messaging:1","deadline_ms":5}'],
  ])('lets the owner’s database decide first, for good; committed %s', async (committed, then) => {
    const { abandon, steps } = setUp({ committed })
    await abandon(5)
    expect(steps).toEqual(['fence [{"operation":"messaging:1","deadlineMs":5}]', then])
  })

  test.each(['fence', 'release'])('fails if the %s does', async (failing) => {
    await expect(setUp({ failing: [failing] }).abandon(5)).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('is retried if it meets a commit in flight, and never guesses', async () => {
    const { abandon, names } = setUp({ inFlight: 2 })
    await abandon(5)
    expect(names()).toEqual(['fence', 'fence', 'fence', 'release'])
    const stalled = setUp({ inFlight: Number.POSITIVE_INFINITY })
    await expect(stalled.abandon(5)).rejects.toMatchObject({ code: 'unavailable' })
    expect(new Set(stalled.names())).toEqual(new Set(['fence']))
  })

  test('two attempts of one operation are fenced one after another', async () => {
    const { abandon, names } = setUp()
    await Promise.all([abandon(5), abandon(6)])
    expect(names()).toEqual(['fence', 'release', 'fence', 'release'])
  })
})
