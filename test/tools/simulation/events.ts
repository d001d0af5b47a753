/**
 * The clock of a simulation. Events happen in the order of their times; events with equal times happen in the order in
 * which they were planned.
 */
export interface Agenda {
  /** Milliseconds. */
  readonly now: number
  after(delayMs: number, happen: () => void): void
  /** Runs until nothing is planned, or until this time. */
  run(untilMs: number): void
}

interface Planned {
  readonly atMs: number
  readonly order: number
  readonly happen: () => void
}

/** A binary heap, because a run has millions of events. */
export function createAgenda(): Agenda {
  const heap: Planned[] = []
  let now = 0
  let planned = 0
  return {
    get now() {
      return now
    },
    after(delayMs, happen) {
      planned += 1
      push({ atMs: now + delayMs, order: planned, happen })
    },
    run(untilMs) {
      for (let next = heap[0]; next !== undefined && next.atMs <= untilMs; next = heap[0]) {
        pop()
        now = next.atMs
        next.happen()
      }
      now = Math.max(now, untilMs)
    },
  }

  function isBefore(a: Planned, b: Planned): boolean {
    return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
  }

  function push(item: Planned): void {
    let at = heap.push(item) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent]
      if (above === undefined || !isBefore(item, above)) break
      heap[at] = above
      at = parent
    }
    heap[at] = item
  }

  function pop(): void {
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      const [left, right] = [heap[child], heap[child + 1]]
      if (left === undefined) break
      if (right !== undefined && isBefore(right, left)) child += 1
      const least = heap[child]
      if (least === undefined || !isBefore(least, last)) break
      heap[at] = least
      at = child
    }
    heap[at] = last
  }
}
