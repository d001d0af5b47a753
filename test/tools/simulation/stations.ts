import type { Agenda } from './events.ts'

/** Cores that processes share. Work waits if no core is free. */
interface Cores {
  /** Milliseconds of work so far. */
  readonly busyMs: number
  /** Works for this time without a pause, then calls `done`. */
  work(ms: number, done: () => void): void
}

export function createCores(agenda: Agenda, count: number): Cores {
  const waiting: { ms: number; done: () => void }[] = []
  let head = 0
  let free = count
  let busyMs = 0
  const begin = (ms: number, done: () => void): void => {
    free -= 1
    agenda.after(ms, () => {
      busyMs += ms
      free += 1
      const next = waiting[head]
      if (next !== undefined) {
        head += 1
        if (head > 1_024) head -= waiting.splice(0, head).length
        begin(next.ms, next.done)
      }
      done()
    })
  }
  return {
    get busyMs() {
      return busyMs
    },
    work(ms, done) {
      if (free > 0) begin(ms, done)
      else waiting.push({ ms, done })
    },
  }
}

/** A process with one thread. One turn of its event loop handles everything that waits. Later arrivals wait for the next turn. */
export interface Process {
  work(ms: number, done: () => void): void
}

export function createProcess(cores: Cores): Process {
  let waiting: { ms: number; done: () => void }[] = []
  let busy = false
  const next = (): void => {
    if (waiting.length === 0) return
    const turn = waiting
    waiting = []
    busy = true
    const ms = turn.reduce((sum, item) => sum + item.ms, 0)
    cores.work(ms, () => {
      busy = false
      next()
      for (const item of turn) item.done()
    })
  }
  return {
    work(ms, done) {
      waiting.push({ ms, done })
      if (!busy) next()
    },
  }
}

/** Natural batching (libs/batching): the first item runs at once. Items that arrive meanwhile share the next run. */
export interface Batcher {
  readonly runs: number
  readonly items: number
  add(done: () => void): void
}

export const MAX_BATCH = 128

/** @param run handles a batch of this size, then calls back. */
export function createBatches(run: (size: number, done: () => void) => void): Batcher {
  let waiting: (() => void)[] = []
  let busy = false
  let runs = 0
  let items = 0
  const next = (): void => {
    if (waiting.length === 0) return
    const batch = waiting.slice(0, MAX_BATCH)
    waiting = waiting.slice(MAX_BATCH)
    busy = true
    runs += 1
    items += batch.length
    run(batch.length, () => {
      busy = false
      next()
      for (const done of batch) done()
    })
  }
  return {
    get runs() {
      return runs
    },
    get items() {
      return items
    },
    add(done) {
      waiting.push(done)
      if (!busy) next()
    },
  }
}
