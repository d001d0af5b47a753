import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Occupancy, type Occupant } from './occupancy.ts'

const steady = (host: string): Occupant => ({ host, struggling: false })
const struggling = (host: string): Occupant => ({ host, struggling: true })

function takeMany(occupancy: Occupancy, count: number, occupant: Occupant): Disposable[] {
  return Array.from({ length: count }, () => occupancy.take(occupant))
}

describe('field notes 4.2: none leaves others without', () => {
  test('an empty process claims as much as one claim takes, of each host a part', () => {
    expect(new Occupancy(256).room()).toEqual({
      steadyEndpoints: 64,
      strugglingEndpoints: 64,
      hostEndpoints: 16,
      steadyBusy: [],
      strugglingBusy: [],
    })
  })

  test('endpoints that struggle have half of it at most, and the others all that is free', () => {
    const occupancy = new Occupancy(64)
    takeMany(occupancy, 32, struggling('a'))
    expect(occupancy.room()).toMatchObject({ steadyEndpoints: 16, strugglingEndpoints: 0 })
    takeMany(occupancy, 31, steady('b'))
    expect(occupancy.room()).toMatchObject({ steadyEndpoints: 0, strugglingEndpoints: 0 })
  })

  test('a host with an eighth of it has enough, apart for those of its endpoints that struggle', () => {
    const occupancy = new Occupancy(64)
    const [first] = takeMany(occupancy, 8, steady('a'))
    takeMany(occupancy, 7, struggling('a'))
    expect(occupancy.room()).toMatchObject({ steadyBusy: ['a'], strugglingBusy: [] })
    occupancy.take(struggling('a'))
    expect(occupancy.room()).toMatchObject({ steadyBusy: ['a'], strugglingBusy: ['a'] })
    first?.[Symbol.dispose]()
    expect(occupancy.room()).toMatchObject({ steadyBusy: [], strugglingBusy: ['a'] })
  })

  test('property: whatever was claimed and has ended, no more than is allowed is under way, and nothing stays counted', () => {
    const move = fc.record({
      host: fc.constantFrom('a', 'b', 'c'),
      struggling: fc.boolean(),
      endings: fc.nat({ max: 20 }),
    })
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 300 }), fc.array(move), (concurrency, moves) => {
        const occupancy = new Occupancy(concurrency)
        const underWay: { lease: Disposable; occupant: Occupant }[] = []
        for (const { host, struggling, endings } of moves) {
          const room = occupancy.room()
          const busy = struggling ? room.strugglingBusy : room.steadyBusy
          const endpoints = Math.min(room.hostEndpoints, struggling ? room.strugglingEndpoints : room.steadyEndpoints)
          const occupant = { host, struggling }
          for (let at = 0; !busy.includes(host) && at < endpoints * 2; at += 1)
            underWay.push({ lease: occupancy.take(occupant), occupant })
          expect(underWay.length).toBeLessThanOrEqual(concurrency)
          const share = Math.max(2, Math.floor(concurrency / 8))
          const own = underWay.filter((one) => one.occupant.host === host && one.occupant.struggling === struggling)
          expect(own.length).toBeLessThan(2 * share)
          for (const { lease } of underWay.splice(0, endings)) lease[Symbol.dispose]()
        }
        for (const { lease } of underWay) lease[Symbol.dispose]()
        expect(occupancy.room()).toEqual(new Occupancy(concurrency).room())
      }),
    )
  })
})
