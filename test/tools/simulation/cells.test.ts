import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  beginMove,
  cellOf,
  createSlotMap,
  finishMove,
  judge,
  type Move,
  planMoves,
  SLOTS,
  type SlotMap,
  slotOf,
  stopMove,
} from './cells.ts'

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, at) => `cell-${at}`)
const apply = (map: SlotMap, moves: readonly Move[]): SlotMap =>
  moves.reduce((changed, move) => finishMove(stopMove(beginMove(changed, move), move.slot), move.slot), map)
const sizesOf = (map: SlotMap): number[] => [...Map.groupBy(map.cells, (cell) => cell).values()].map((of) => of.length)
const agents = Array.from({ length: 20_000 }, (_, at) => `agent-${at}`)
const cellCount = fc.integer({ min: 1, max: 60 })

describe('ADR 25: the cell of an agent', () => {
  test('is the same wherever it is computed: a worked example', () => {
    expect(slotOf('key', 'agent')).toBe(1_026)
    expect(cellOf(createSlotMap('key', namesOf(3)), 'agent')).toBe('cell-0')
  })

  test('agents spread evenly over slots, and differently under another key', () => {
    const perSlot = new Array<number>(SLOTS).fill(0)
    for (const agent of agents) perSlot[slotOf('key', agent)] = (perSlot[slotOf('key', agent)] ?? 0) + 1
    expect(Math.max(...perSlot)).toBeLessThan(25) // 5 on average
    const same = agents.filter((agent) => slotOf('key', agent) === slotOf('other key', agent))
    expect(same.length).toBeLessThan(30) // 5 on average
  })
})

describe('ADR 25: adding and removing cells', () => {
  test('property: shares differ by one slot at most, and no slot moves needlessly', () => {
    fc.assert(
      fc.property(cellCount, cellCount, (before, after) => {
        const map = createSlotMap('key', namesOf(before))
        const moves = planMoves(map, namesOf(after))
        const sizes = sizesOf(apply(map, moves))
        expect(sizes).toHaveLength(after)
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
        const needed = after > before ? (SLOTS / after) * (after - before) : (SLOTS / before) * (before - after)
        expect(moves.length).toBeLessThanOrEqual(Math.ceil(needed) + Math.max(before, after))
        expect(moves.every(({ from, to }) => from !== to)).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  test('without a change of cells nothing moves', () => {
    const map = createSlotMap('key', namesOf(7))
    expect(planMoves(map, namesOf(7))).toEqual([])
  })
})

describe('ADR 25: during a move at most one cell serves an agent', () => {
  const agent = 'agent'
  const slot = slotOf('key', agent)
  const before = createSlotMap('key', ['old', 'new'])
  const from = cellOf(before, agent)
  const to = from === 'old' ? 'new' : 'old'
  const copying = beginMove(before, { slot, from, to })
  const stopped = stopMove(copying, slot)
  const after = finishMove(stopped, slot)

  test.each([
    ['the old cell, while the slot is copied', copying, from, copying.version, { answer: 'serve' }],
    [
      'the new cell, while the slot is copied',
      copying,
      to,
      copying.version,
      { answer: 'moved', version: copying.version },
    ],
    ['the old cell, while the rest is copied', stopped, from, stopped.version, { answer: 'unavailable' }],
    [
      'the old cell that does not know the new map, by a caller with the old map',
      stopped,
      from,
      before.version,
      { answer: 'unavailable' },
    ],
    ['the new cell, afterwards', after, to, after.version, { answer: 'serve' }],
    ['the new cell, by a caller with the old map', after, to, before.version, { answer: 'serve' }],
    ['the old cell, by a caller with the old map', after, from, before.version, { answer: 'moved', version: 2 }],
    [
      'the old cell with the old map, by a caller with the new one',
      copying,
      from,
      after.version,
      { answer: 'refresh' },
    ],
    ['the new cell with the old map, by a caller with the new one', copying, to, after.version, { answer: 'refresh' }],
  ] as const)('%s', (_, map, cell, callerVersion, verdict) => {
    expect(judge(map, cell, agent, callerVersion)).toEqual(verdict)
  })

  test.each([
    ['a slot that is elsewhere', () => beginMove(before, { slot, from: to, to: from })],
    ['a slot that is being moved', () => beginMove(copying, { slot, from, to })],
    ['the stop of a move that has not begun', () => stopMove(before, slot)],
    ['the end of a move whose old cell still serves', () => finishMove(copying, slot)],
    ['a map without cells', () => createSlotMap('key', [])],
  ])('%s is refused', (_, change) => expect(change).toThrow())
})
