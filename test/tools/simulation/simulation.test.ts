import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createAgenda } from './events.ts'
import { MEASURED, POSTGRES_PARTS, PRIMARY, RESERVE_US, UTILISATION } from './inputs.ts'
import { cellCapacity, limitsOf, logBytes, perCore, planFor, planStreams, WHOLE } from './plan.ts'
import { RATES } from './plan-tables.ts'
import { exponential, seeded } from './random.ts'
import { createBatches, createCores, createProcess, MAX_BATCH } from './stations.ts'
import { CALIBRATION_BATCH, FIXED_SHARE, simulate } from './system.ts'
import { AS_MEASURED, atLoad, CELL, fillPage, renderTables } from './tables.ts'

const PAGE = readFileSync(new URL('../../../docs/operating/scale.md', import.meta.url), 'utf8')

test('docs/operating/scale.md has the tables that the simulation renders (npx pnpm simulate writes them)', () => {
  expect(PAGE).toBe(fillPage(PAGE, renderTables()))
})

describe('the simulation agrees with measurements', () => {
  const found = simulate(AS_MEASURED)

  test('the rate within 15 %', () => {
    expect(found.acceptedPerSecond / MEASURED.acceptedPerSecond).toBeGreaterThan(0.85)
    expect(found.acceptedPerSecond / MEASURED.acceptedPerSecond).toBeLessThan(1.15)
  })

  test('the CPU of a message within 5 %, at the batch sizes of its calibration', () => {
    const cpuMs = Object.values(MEASURED.cpuMs).reduce((sum, ms) => sum + ms, 0)
    expect(Math.abs(found.cpuMs / cpuMs - 1)).toBeLessThan(0.05)
    for (const size of Object.values(found.batches)) expect(Math.abs(size / CALIBRATION_BATCH - 1)).toBeLessThan(0.25)
  })

  test('the costs of Postgres by statement add up to its total, and a batch costs as much as the measured reservations', () => {
    expect(Object.values(POSTGRES_PARTS).reduce((sum, part) => sum + part, 0)).toBeCloseTo(1)
    // The cost of a single item, relative to its cost in a batch of 16, within the measured range.
    const costAt = (size: number): number => 1 - FIXED_SHARE + (FIXED_SHARE * CALIBRATION_BATCH) / size
    const [least = 0, most = 0] = [
      (RESERVE_US[1]?.[0] ?? 0) / (RESERVE_US[16]?.[1] ?? 1),
      (RESERVE_US[1]?.[1] ?? 0) / (RESERVE_US[16]?.[0] ?? 1),
    ]
    expect(costAt(1) / costAt(16)).toBeGreaterThan(least)
    expect(costAt(1) / costAt(16)).toBeLessThan(most)
  })

  test('Little: the number under way is the rate times the time', () => {
    const underWay = (found.acceptedPerSecond * found.meanMs) / 1_000
    expect(Math.abs(underWay / MEASURED.connections - 1)).toBeLessThan(0.05)
  })
})

describe('the simulation', () => {
  test('repeats its results for a seed, and gives similar results for another', () => {
    const setting = { ...AS_MEASURED, seconds: 2 }
    const [first, again, other] = [simulate(setting), simulate(setting), simulate({ ...setting, seed: 7 })]
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
    expect(Math.abs(other.acceptedPerSecond / first.acceptedPerSecond - 1)).toBeLessThan(0.1)
  })

  test('under an open load, all requests are answered if the rate is within the capacity, and fewer if it is above', () => {
    const capacity = cellCapacity()
    const half = atLoad(capacity / 2)
    expect(Math.abs(half.acceptedPerSecond / (capacity / 2) - 1)).toBeLessThan(0.05)
    const flood = simulate({ ...CELL, seconds: 2, load: { perSecond: 40_000 } })
    expect(flood.acceptedPerSecond).toBeLessThan(39_000)
    expect(flood.left).toBeGreaterThan(1_000)
    expect(flood.utilisation).toBeLessThanOrEqual(1.01)
  })

  test('more cores never reduce the rate, and more clients never reduce the wait', () => {
    const rate = (cores: number) => simulate({ ...AS_MEASURED, cores, seconds: 2 }).acceptedPerSecond
    expect(rate(4)).toBeGreaterThanOrEqual(rate(2))
    expect(rate(2)).toBeGreaterThan(rate(1))
    const wait = (clients: number) => simulate({ ...AS_MEASURED, load: { clients }, seconds: 2 }).p50Ms
    expect(wait(128)).toBeGreaterThan(wait(64))
    expect(wait(64)).toBeGreaterThan(wait(8))
  })
})

describe('its parts', () => {
  test('one core with arrivals and work at random is M/M/1: the mean time is 1 / (service rate - arrival rate)', () => {
    const agenda = createAgenda()
    const random = seeded(3)
    const cores = createCores(agenda, 1)
    const [meanWorkMs, meanGapMs] = [1, 2]
    let [count, sumMs] = [0, 0]
    const arrive = (): void => {
      const cameMs = agenda.now
      cores.work(exponential(random, meanWorkMs), () => {
        count += 1
        sumMs += agenda.now - cameMs
      })
      agenda.after(exponential(random, meanGapMs), arrive)
    }
    arrive()
    agenda.run(400_000)
    expect(cores.busyMs / 400_000).toBeCloseTo(0.5, 1)
    expect(sumMs / count).toBeGreaterThan(1.9)
    expect(sumMs / count).toBeLessThan(2.1)
  })

  test('events happen in the order of their times, and events of one time in the order of their planning', () => {
    const agenda = createAgenda()
    const seen: number[] = []
    for (const at of [5, 1, 3, 1, 9, 0]) agenda.after(at, () => seen.push(at))
    agenda.run(5)
    expect(seen).toEqual([0, 1, 1, 3, 5])
    expect(agenda.now).toBe(5)
  })

  test('a process works on one turn at a time, whatever the number of cores', () => {
    const agenda = createAgenda()
    const process = createProcess(createCores(agenda, 4))
    const endedMs: number[] = []
    for (let item = 0; item < 3; item += 1) process.work(10, () => endedMs.push(agenda.now))
    agenda.run(100)
    // The first item starts at once. The other two wait for the next turn.
    expect(endedMs).toEqual([10, 30, 30])
  })

  test('batches: the first item runs at once, later items go together, at most 128', () => {
    const agenda = createAgenda()
    const sizes: number[] = []
    const batches = createBatches((size, done) => {
      sizes.push(size)
      agenda.after(1, done)
    })
    for (let item = 0; item < 300; item += 1) batches.add(() => {})
    agenda.run(100)
    expect(sizes).toEqual([1, MAX_BATCH, MAX_BATCH, 43])
    expect([batches.runs, batches.items]).toEqual([4, 300])
  })
})

describe('the plans', () => {
  test('no primary and no process gets more load than it can handle', () => {
    for (const rate of RATES) {
      const plan = planFor(rate)
      for (const limit of Object.values(limitsOf(WHOLE))) expect(rate / plan.cells).toBeLessThanOrEqual(limit)
      for (const [service, count] of Object.entries(plan.processes)) {
        expect(rate / count).toBeLessThanOrEqual(perCore(service as 'gateway') * 1.0001)
      }
    }
  })

  test('at the limit of its log, a primary writes as much as is planned', () => {
    expect(logBytes(WHOLE, limitsOf(WHOLE).log) / 1e6).toBeCloseTo(PRIMARY.logMbPerSecond * UTILISATION)
  })

  test('the cost of a million messages does not rise with their number', () => {
    const costs = RATES.map((rate) => Object.values(planFor(rate).cost).reduce((sum, each) => sum + each, 0))
    expect(costs).toEqual(costs.toSorted((a, b) => b - a))
  })

  test('spec 11.7: 200 streams in a process', () => {
    expect(planStreams(1_000_000).streamProcesses).toBe(5_000)
  })

  test('a page without a place for a table is an error', () => {
    expect(() => fillPage('', { units: '' })).toThrow('units')
  })
})
