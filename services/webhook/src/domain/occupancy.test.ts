import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Occupancy, type Occupant, type Standing } from './occupancy.ts'

const STANDINGS: readonly Standing[] = ['new', 'proven', 'struggling']

function takeMany(occupancy: Occupancy, count: number, occupant: Occupant): Disposable[] {
  return Array.from({ length: count }, () => occupancy.occupy(occupant))
}

describe('ADR 22: no endpoint or host starves others', () => {
  test('an idle process claims as many jobs as a claim may have, and of each host at most its share', () => {
    expect(new Occupancy(256).claimLimits()).toEqual({ steadyJobs: 128, strugglingJobs: 128, hostJobs: 32, busy: [] })
  })

  test('struggling endpoints get at most half of the requests, and the others may use all that are free', () => {
    const occupancy = new Occupancy(64)
    takeMany(occupancy, 31, { host: 'a', standing: 'struggling' })
    expect(occupancy.claimLimits()).toMatchObject({ steadyJobs: 33, strugglingJobs: 1 })
    takeMany(occupancy, 1, { host: 'a', standing: 'struggling' })
    takeMany(occupancy, 32, { host: 'b', standing: 'new' })
    expect(occupancy.claimLimits()).toMatchObject({ steadyJobs: 0, strugglingJobs: 0 })
  })

  test('requests under way count by host and by the standing of their endpoints', () => {
    const occupancy = new Occupancy(64)
    const [first] = takeMany(occupancy, 8, { host: 'a', standing: 'new' })
    for (const standing of STANDINGS) occupancy.occupy({ host: 'a', standing })
    first?.[Symbol.dispose]()
    expect(occupancy.claimLimits().busy).toEqual([
      { host: 'a', standing: 'new', jobs: 8 },
      { host: 'a', standing: 'proven', jobs: 1 },
      { host: 'a', standing: 'struggling', jobs: 1 },
    ])
  })

  test('property: after any claims and ends the limits hold, and ended requests no longer count', () => {
    const move = fc.record({
      host: fc.constantFrom('a', 'b', 'c'),
      standing: fc.constantFrom(...STANDINGS),
      endings: fc.nat({ max: 20 }),
    })
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 300 }), fc.array(move), (concurrency, moves) => {
        const occupancy = new Occupancy(concurrency)
        const underWay: Disposable[] = []
        for (const { host, standing, endings } of moves) {
          const room = occupancy.claimLimits()
          const own = room.busy.find((one) => one.host === host && one.standing === standing)?.jobs ?? 0
          const jobs = Math.min(room.hostJobs - own, standing === 'struggling' ? room.strugglingJobs : room.steadyJobs)
          underWay.push(...takeMany(occupancy, jobs, { host, standing }))
          expect(underWay.length).toBeLessThanOrEqual(concurrency)
          for (const lease of underWay.splice(0, endings)) lease[Symbol.dispose]()
        }
        for (const lease of underWay) lease[Symbol.dispose]()
        expect(occupancy.claimLimits()).toEqual(new Occupancy(concurrency).claimLimits())
      }),
    )
  })
})
