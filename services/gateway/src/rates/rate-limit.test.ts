import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Rate } from './gcra.ts'
import { keeperOf } from './keeper.ts'
import { type Gateways, RateLimiter, type ReportOf } from './rate-limit.ts'
import { CREDIT_SHARE, creditOf, type Settlement } from './shared-bucket.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']

/** Simulates gateways with a virtual clock and a network whose delays the test sets. */
class World {
  nowMs = 0
  /** When each request was admitted, in order. */
  readonly admittedMs: number[] = []
  /** Whether messages arrive. If not, the sender gets an error after a while. */
  isConnected = true
  readonly #rate: Rate
  readonly #delayMs: () => number
  readonly #events: { atMs: number; run: () => void }[] = []
  readonly #nodes = new Map<string, Node>()

  constructor(rate: Rate, delayMs: () => number = () => 1) {
    this.#rate = rate
    this.#delayMs = delayMs
  }

  /** @param clockMs offset of its clock from the clocks of the others. */
  start(self: string, clockMs = 0): RateLimiter {
    const keepers: Node['keepers'] = []
    const listeners: Node['listeners'] = []
    const gateways: Gateways = {
      self,
      all: [self],
      report: (keeper, _limit, reports) => this.#send(keeper, reports),
      onReport: (_limit, keep) => void keepers.push(keep),
      onChange: (changed) => void listeners.push(changed),
    }
    const node = { gateways, keepers, listeners }
    this.#nodes.set(self, node)
    const clock = { now: () => this.nowMs + clockMs, after: (ms: number, run: () => void) => this.after(ms, run) }
    return new RateLimiter({ limit: 'requests', rate: this.#rate, gateways, clock })
  }

  /** Tells every gateway which gateways exist. */
  meet(...names: string[]): void {
    for (const name of names) {
      const node = this.#nodes.get(name)
      if (node === undefined) continue
      Object.assign(node.gateways, { all: [name, ...names.filter((other) => other !== name)] })
      for (const changed of node.listeners) changed()
    }
  }

  after(ms: number, run: () => void): void {
    this.#events.push({ atMs: this.nowMs + ms, run })
    this.#events.sort((one, other) => one.atMs - other.atMs)
  }

  /** Lets time pass. */
  async until(atMs: number): Promise<void> {
    for (;;) {
      await untilQuiet()
      const next = this.#events[0]
      if (next === undefined || next.atMs > atMs) break
      this.#events.shift()
      this.nowMs = next.atMs
      next.run()
    }
    this.nowMs = atMs
  }

  /** Makes one request. The promise settles when it is judged; the virtual clock may have to advance first. */
  take(limiter: RateLimiter, client: string): Promise<number> {
    const verdict = limiter.takeRequest(client)
    if (verdict === 0) this.admittedMs.push(this.nowMs)
    return Promise.resolve(verdict)
  }

  #send(keeper: string, reports: readonly ReportOf[]): Promise<readonly Settlement[]> {
    return new Promise((resolve, reject) => {
      if (!this.isConnected) {
        this.after(1_000, () => reject(new Error('no answer')))
        return
      }
      this.after(this.#delayMs(), () => {
        const settlements = reports.map((report) => this.#nodes.get(keeper)?.keepers[0]?.(report))
        for (const settlement of settlements)
          for (let at = 0; at < (settlement?.granted ?? 0); at += 1) this.admittedMs.push(this.nowMs)
        this.after(this.#delayMs(), () => resolve(settlements as Settlement[]))
      })
    })
  }
}

interface Node {
  gateways: Gateways
  keepers: ((report: ReportOf) => Settlement)[]
  listeners: (() => void)[]
}

/** A batch leaves a few ticks of the event loop after its first item (libs/batching), and an answer may start another batch. */
async function untilQuiet(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await new Promise(setImmediate)
}

/** The highest level of a bucket from which all these requests were taken: the maximum excess over the rate in any time span. */
function highestLevel(admittedMs: readonly number[], { perSecond }: Rate): number {
  let level = 0
  let highest = 0
  let lastMs = 0
  for (const atMs of admittedMs) {
    level = Math.max(0, level - ((atMs - lastMs) * perSecond) / 1000) + 1
    highest = Math.max(highest, level)
    lastMs = atMs
  }
  return highest
}

/** A client whose bucket the given gateway keeps. */
function clientKeptBy(keeper: string, gateways: readonly string[]): string {
  for (let at = 0; ; at += 1) {
    const client = `192.0.2.${at}`
    if (keeperOf(client, gateways) === keeper) return client
  }
}

const rates = fc.record({ perSecond: fc.integer({ min: 1, max: 200 }), burst: fc.integer({ min: 1, max: 120 }) })

/** Long enough for a report, its answer and one step of the virtual clock. */
const SLOW_MS = 100

function inTurn(values: readonly number[]): () => number {
  let used = 0
  return () => {
    used += 1
    return values[used % values.length] ?? 0
  }
}

describe('spec 3.15: one gateway', () => {
  test('each client has its own allowance, and a refusal says whole seconds, at least one', () => {
    const world = new World({ perSecond: 0.4, burst: 2 })
    const limiter = world.start('a')
    const take = (client: string): unknown => limiter.takeRequest(client)
    expect([take('x'), take('x'), take('x')]).toEqual([0, 0, 3])
    expect(take('y')).toBe(0)
    world.nowMs = 2_490
    expect(take('x')).toBe(1)
    world.nowMs = 2_500
    expect(take('x')).toBe(0)
  })
})

describe('spec 3.15: limits hold over several gateways together, within 20 %', () => {
  const loads = fc.record({
    rate: rates,
    gateways: fc.integer({ min: 2, max: NAMES.length }),
    clocksMs: fc.array(fc.integer({ min: -5_000, max: 5_000 }), { minLength: NAMES.length, maxLength: NAMES.length }),
    requests: fc.array(
      fc.record({
        gateway: fc.nat(),
        pauseMs: fc.oneof(
          { weight: 5, arbitrary: fc.constant(0) },
          { weight: 1, arbitrary: fc.integer({ max: 300, min: 0 }) },
        ),
        times: fc.integer({ min: 1, max: 40 }),
      }),
      { maxLength: 60 },
    ),
    delaysMs: fc
      .constantFrom(2, 30, 900)
      .chain((max) => fc.array(fc.integer({ min: 0, max }), { minLength: 1, maxLength: 20 })),
  })

  test('property: with requests spread in any way and any delays, at most the rate plus 1.2 times the burst is admitted in any time span', async () => {
    await fc.assert(
      fc.asyncProperty(loads, async ({ rate, gateways, clocksMs, requests, delaysMs }) => {
        const world = new World(rate, inTurn(delaysMs))
        const names = NAMES.slice(0, gateways)
        const limiters = names.map((name, at) => world.start(name, clocksMs[at]))
        world.meet(...names)
        const verdicts: Promise<number>[] = []
        for (const { gateway, pauseMs, times } of requests) {
          await world.until(world.nowMs + pauseMs)
          const limiter = limiters[gateway % gateways]
          for (let at = 0; at < times && limiter !== undefined; at += 1) verdicts.push(world.take(limiter, 'client'))
        }
        await world.until(world.nowMs + 10_000)
        const admitted = (await Promise.all(verdicts)).filter((verdict) => verdict === 0)
        expect(admitted).toHaveLength(world.admittedMs.length)
        const allowed = rate.burst + (gateways - 1) * creditOf(rate, gateways)
        expect(allowed).toBeLessThanOrEqual(rate.burst * (1 + CREDIT_SHARE))
        expect(highestLevel(world.admittedMs, rate)).toBeLessThanOrEqual(allowed + 0.01)
      }),
      { numRuns: 60 },
    )
  })

  test('property: a client that exceeds its allowance still gets the rate and the burst, except for reports under way', async () => {
    const delaysMs = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 20 })
    // If a bucket fills up while a message is in flight, the refill beyond the burst is lost.
    const wideRates = rates.map(({ perSecond, burst }) => ({
      perSecond,
      burst: burst + Math.ceil((perSecond * SLOW_MS) / 1000),
    }))
    await fc.assert(
      fc.asyncProperty(
        wideRates,
        fc.integer({ min: 2, max: NAMES.length }),
        delaysMs,
        async (rate, gateways, delays) => {
          const world = new World(rate, inTurn(delays))
          const names = NAMES.slice(0, gateways)
          const limiters = names.map((name) => world.start(name))
          world.meet(...names)
          const spanMs = 3_000
          for (let atMs = 0; atMs <= spanMs; atMs += 10) {
            await world.until(atMs)
            for (const limiter of limiters)
              for (let at = 0; at < 1 + rate.perSecond / 100; at += 1) void world.take(limiter, 'client')
          }
          await world.until(spanMs + 1_000)
          const underWay = 1 + (rate.perSecond * SLOW_MS) / 1000
          const allowed = rate.burst + (rate.perSecond * spanMs) / 1000
          expect(world.admittedMs.length).toBeGreaterThanOrEqual(allowed - underWay)
        },
      ),
      { numRuns: 15 },
    )
  })

  test('a request within the allowance never waits for another gateway', async () => {
    const rate = { perSecond: 100, burst: 200 }
    const world = new World(rate)
    const limiters = ['a', 'b', 'c'].map((name) => world.start(name))
    world.meet('a', 'b', 'c')
    for (let at = 0; at < 1_000; at += 1) {
      await world.until(at * 10)
      expect(limiters[at % 3]?.takeRequest('client')).toBe(0)
    }
  })

  test.each(['a', 'b'])(
    'spec 3.15: a client on one connection gets the full rate and burst, also if gateway %s keeps its bucket',
    async (keeper) => {
      const rate = { perSecond: 100, burst: 200 }
      const world = new World(rate, () => 2)
      const [a] = ['a', 'b', 'c'].map((name) => world.start(name))
      world.meet('a', 'b', 'c')
      const client = clientKeptBy(keeper, ['a', 'b', 'c'])
      const spanMs = 5_000
      let isAnswered = true
      for (let atMs = 0; atMs <= spanMs; atMs += 1) {
        await world.until(atMs)
        // Make requests one after another, as fast as they are answered.
        if (a === undefined || !isAnswered) continue
        isAnswered = false
        world.take(a, client).then(() => {
          isAnswered = true
        }, expect.unreachable)
      }
      const allowed = rate.burst + (rate.perSecond * spanMs) / 1_000
      // All requests except the refill of the bucket during one round trip to the keeper.
      expect(world.admittedMs.length).toBeGreaterThanOrEqual(allowed - 5)
      expect(highestLevel(world.admittedMs, rate)).toBeLessThanOrEqual(rate.burst * (1 + CREDIT_SHARE))
    },
  )

  test('a client has one burst in all, at whichever gateways its requests arrive', async () => {
    const world = new World({ perSecond: 1, burst: 10 })
    const [a, b] = [world.start('a'), world.start('b')]
    world.meet('a', 'b')
    const client = clientKeptBy('b', ['a', 'b'])
    const verdicts = Array.from({ length: 30 }, () => world.take(a, client))
    await world.until(100)
    // Two are admitted on credit and eight are granted by the keeper. This gateway refuses the rest.
    expect((await Promise.all(verdicts)).filter((verdict) => verdict === 0)).toHaveLength(10)
    expect(b.takeRequest(client)).toBe(1)
  })
})

describe('gateways come and go', () => {
  const rate = { perSecond: 1, burst: 50 }

  test('a new gateway that becomes the keeper gets the levels from the old keeper', async () => {
    const world = new World(rate)
    const client = clientKeptBy('c', ['a', 'b', 'c'])
    const [a] = [world.start('a'), world.start('b')]
    world.meet('a', 'b')
    for (let at = 0; at < 50; at += 1) void world.take(a, client)
    await world.until(100)
    const c = world.start('c')
    world.meet('a', 'b', 'c')
    await world.until(200)
    expect(c.takeRequest(client)).toBe(1)
  })

  test('if the keeper has died, the other gateways give the next keeper what they know', async () => {
    const world = new World(rate)
    const client = clientKeptBy('c', ['a', 'b', 'c'])
    const [a, b] = [world.start('a'), world.start('b'), world.start('c')]
    world.meet('a', 'b', 'c')
    const next = keeperOf(client, ['a', 'b']) === 'a' ? { keeper: a, other: b } : { keeper: b, other: a }
    for (let at = 0; at < 50; at += 1) void world.take(next.other, client)
    await world.until(100)
    world.meet('a', 'b')
    await world.until(200)
    expect(next.keeper.takeRequest(client)).toBe(1)
  })

  test('without a network each gateway admits only the burst, and no request waits for long', async () => {
    const world = new World(rate)
    const limiters = ['a', 'b'].map((name) => world.start(name))
    world.meet('a', 'b')
    world.isConnected = false
    for (const limiter of limiters) {
      const verdicts = Array.from({ length: 80 }, () => world.take(limiter, 'client'))
      await world.until(world.nowMs + 1_000)
      expect((await Promise.all(verdicts)).filter((verdict) => verdict === 0)).toHaveLength(50)
    }
  })

  test('requests that were admitted without a network count when the network is back', async () => {
    const world = new World(rate)
    const client = clientKeptBy('b', ['a', 'b'])
    const [a, b] = [world.start('a'), world.start('b')]
    world.meet('a', 'b')
    world.isConnected = false
    for (let at = 0; at < 50; at += 1) void world.take(a, client)
    await world.until(1_500)
    world.isConnected = true
    await world.until(3_000)
    expect(b.takeRequest(client)).toBeGreaterThan(0)
  })
})
