/**
 * The cell that an agent lives in, by a map of slots (ADR 25). A cell is a whole system with its own databases. The
 * services do not use this yet. The file fixes the rules, so that the plan of docs/operating/scale.md can be checked.
 */
import { createHmac } from 'node:crypto'

export const SLOTS = 4_096

export interface SlotMap {
  /**
   * Rises with every change. A cell that answers `moved` includes the version that it knows, and the caller fetches that
   * version or a newer one.
   */
  readonly version: number
  /**
   * A secret of the deployment. Agent ids are hashes, so an attacker can try keys until an id falls into a chosen slot; the
   * secret prevents that.
   */
  readonly key: string
  /** The cell of each slot. */
  readonly cells: readonly string[]
  /** Slots that are being copied to another cell. The old cell serves them until the rest is copied. */
  readonly moving: ReadonlyMap<number, string>
  /** Slots that no cell serves while the rest is copied. Their old cell answers `unavailable`. */
  readonly stopped: ReadonlySet<number>
}

const UNMOVED = { moving: new Map<number, string>(), stopped: new Set<number>() }

export function slotOf(key: string, agentId: string): number {
  return createHmac('sha256', key).update(agentId).digest().readUInt16BE(0) % SLOTS
}

/** Spreads the slots evenly over the cells. */
export function createSlotMap(key: string, cells: readonly string[]): SlotMap {
  if (cells.length === 0 || cells.length > SLOTS) throw new RangeError(`a map has 1 to ${SLOTS} cells`)
  const cellAt = (slot: number): string => cells[slot % cells.length] ?? ''
  return { version: 1, key, cells: Array.from({ length: SLOTS }, (_, slot) => cellAt(slot)), ...UNMOVED }
}

export function cellOf(map: SlotMap, agentId: string): string {
  return map.cells[slotOf(map.key, agentId)] ?? ''
}

/** A cell's answer to a request for an agent. After `moved` the caller must use a map of at least this version. */
type Verdict = { answer: 'serve' | 'unavailable' | 'refresh' } | { answer: 'moved'; version: number }

/**
 * How a cell handles a request. It redirects a caller whose map is older than its own. If the caller's map is newer, the
 * cell fetches that map before it decides. A stopped slot is served by no cell. A cell stops a slot in its own map, and the
 * move is finished only after that, so two cells never serve one agent, whatever maps they and the caller have.
 */
export function judge(map: SlotMap, cell: string, agentId: string, callerVersion: number): Verdict {
  if (callerVersion > map.version) return { answer: 'refresh' }
  if (cellOf(map, agentId) !== cell) return { answer: 'moved', version: map.version }
  return { answer: map.stopped.has(slotOf(map.key, agentId)) ? 'unavailable' : 'serve' }
}

export interface Move {
  readonly slot: number
  readonly from: string
  readonly to: string
}

/** The smallest set of moves after which each of these cells has its share of the slots, and no other cell has any. */
export function planMoves(map: SlotMap, cells: readonly string[]): Move[] {
  const share = (index: number): number => Math.floor(SLOTS / cells.length) + (index < SLOTS % cells.length ? 1 : 0)
  const slotsOf = new Map<string, number[]>(cells.map((cell) => [cell, []]))
  const homeless: number[] = []
  map.cells.forEach((cell, slot) => void (slotsOf.get(cell) ?? homeless).push(slot))
  // The largest cells get the larger shares, so that no slot moves only because of rounding.
  const bySize = [...slotsOf].toSorted(([, a], [, b]) => b.length - a.length)
  const wanted = new Map(bySize.map(([cell], index) => [cell, share(index)]))
  const surplus = [...homeless, ...bySize.flatMap(([cell, slots]) => slots.slice(wanted.get(cell)))]
  return bySize.flatMap(([to, slots]) =>
    surplus
      .splice(0, Math.max((wanted.get(to) ?? 0) - slots.length, 0))
      .map((slot) => ({ slot, from: map.cells[slot] ?? '', to })),
  )
}

/** Begins to copy a slot. Nothing changes for callers, so the version stays the same. */
export function beginMove(map: SlotMap, { slot, from, to }: Move): SlotMap {
  if (map.cells[slot] !== from) throw new Error(`slot ${slot} is not in ${from}`)
  if (map.moving.has(slot)) throw new Error(`slot ${slot} is being moved already`)
  return { ...map, moving: new Map([...map.moving, [slot, to]]) }
}

/** The old cell stops the slot, so that the rest can be copied. It remembers this durably, until it has a newer version. */
export function stopMove(map: SlotMap, slot: number): SlotMap {
  if (!map.moving.has(slot)) throw new Error(`slot ${slot} is not being moved`)
  return { ...map, stopped: new Set([...map.stopped, slot]) }
}

/** Ends a move: the new cell serves the slot from this version on. @throws Error if the old cell may still serve it. */
export function finishMove(map: SlotMap, slot: number): SlotMap {
  const to = map.moving.get(slot)
  if (to === undefined || !map.stopped.has(slot)) throw new Error(`slot ${slot} is not stopped for a move`)
  const [moving, stopped] = [new Map(map.moving), new Set(map.stopped)]
  moving.delete(slot)
  stopped.delete(slot)
  return { ...map, version: map.version + 1, cells: map.cells.with(slot, to), moving, stopped }
}
