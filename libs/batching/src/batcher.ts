/**
 * Natural batching: the first call runs at once, calls that come while it runs go together in the next run. No timers:
 * nothing is slower when idle, and under load one packet and one commit serve many.
 */
import { defineDistribution, defineLevel } from '@svc/telemetry/metrics.ts'
import { activeTrace, inBatchSpan, isTracing } from '@svc/telemetry/tracing.ts'

export interface BatcherOptions<Item, Result> {
  /**
   * Does the work of one batch. Answers one outcome for each item, in order; an Error is that item's own failure. What
   * it throws is every item's failure.
   */
  run: (items: Item[]) => Promise<readonly (Result | Error)[]>
  /** What its batches are called in metrics and traces; without a name they are in neither. */
  name?: string
  /** Items in one run at most. */
  maxItems?: number
  /** Runs under way at once at most; more fill a slow round trip, fewer make larger batches. */
  concurrency?: number
  /** Items with a key in common never share a run, so that set-based work sees each key once; their order is kept. */
  keyOf?: (item: Item) => string | readonly string[]
  /**
   * When a run that may start does so: at the end of the microtask turn (the default), or once a turn of the event loop has
   * brought no more items (`loop`), which groups calls that come from different sockets.
   */
  turn?: 'microtask' | 'loop'
  /** Items that wait at most; past that a call is refused with `overloaded()`. No queue is without a bound. */
  maxWaiting?: number
  /** What a call is refused with when too many wait. */
  overloaded?: () => Error
}

export type Batcher<Item, Result> = (item: Item) => Promise<Result>

const batchItems = defineDistribution({
  name: 'svc_batch_items',
  help: 'Items that went together in one batch',
  labels: ['batch'],
  buckets: [1, 2, 4, 8, 16, 32, 64, 128, 1_000],
})
const batchWaiting = defineLevel({
  name: 'svc_batch_waiting',
  help: 'Items that wait for their batch',
  labels: ['batch'],
})

const DEFAULT_MAX_ITEMS = 128
const DEFAULT_MAX_WAITING = 10_000
/**
 * Turns of the event loop that bring more items before a run starts all the same. One turn takes in what was ready when it
 * began, and work on that is slower than clients are: a run after each would take a few items, and the next one a few more.
 */
const MAX_GATHERING_TURNS = 3

/** Groups calls into runs. The returned function's promise settles with its own item's outcome. */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { run, keyOf, name } = options
  const maxItems = options.maxItems ?? DEFAULT_MAX_ITEMS
  const concurrency = options.concurrency ?? 1
  const maxWaiting = options.maxWaiting ?? DEFAULT_MAX_WAITING
  let waiting: Pending<Item, Result>[] = []
  let running = 0
  let scheduled = false
  if (name !== undefined) batchWaiting.read(() => [[{ batch: name }, waiting.length]])

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      if (waiting.length >= maxWaiting) {
        reject(options.overloaded?.() ?? new Error('too many calls wait for a batch'))
        return
      }
      waiting.push({ item, resolve, reject, trace: isTracing() ? activeTrace() : undefined })
      schedule()
    })

  // A run starts at the end of the turn, so that calls made together go together.
  function schedule(): void {
    if (scheduled || running >= concurrency) return
    scheduled = true
    if (options.turn === 'loop') setImmediate(gather, 0, MAX_GATHERING_TURNS)
    else queueMicrotask(start)
  }

  /** @param before how many waited a turn ago. */
  function gather(before: number, turnsLeft: number): void {
    if (turnsLeft > 0 && waiting.length > before && waiting.length < maxItems) {
      setImmediate(gather, waiting.length, turnsLeft - 1)
    } else {
      start()
    }
  }

  function start(): void {
    scheduled = false
    if (waiting.length === 0 || running >= concurrency) return
    const batch = takeBatch()
    running += 1
    void settle(batch).finally(() => {
      running -= 1
      if (waiting.length > 0) schedule()
    })
    if (waiting.length > 0) schedule()
  }

  function takeBatch(): Pending<Item, Result>[] {
    if (keyOf === undefined) {
      if (waiting.length <= maxItems) {
        const all = waiting
        waiting = []
        return all
      }
      return waiting.splice(0, maxItems)
    }
    const keys = new Set<string>()
    const taken: Pending<Item, Result>[] = []
    const left: Pending<Item, Result>[] = []
    for (const pending of waiting) {
      const own = keyOf(pending.item)
      const itemKeys = typeof own === 'string' ? [own] : own
      if (taken.length < maxItems && !itemKeys.some((key) => keys.has(key))) taken.push(pending)
      else left.push(pending)
      // The keys of one that waits are taken too: what comes after it must not overtake it.
      for (const key of itemKeys) keys.add(key)
    }
    waiting = left
    return taken
  }

  async function settle(batch: Pending<Item, Result>[]): Promise<void> {
    try {
      if (name !== undefined) batchItems.observe({ batch: name }, batch.length)
      const items = batch.map((pending) => pending.item)
      const outcomes = isTracing() ? await runTraced(batch, items) : await run(items)
      if (outcomes.length !== batch.length) throw new Error('a batch must answer every item')
      batch.forEach((pending, index) => {
        const outcome = outcomes[index]
        if (outcome instanceof Error) pending.reject(outcome)
        else pending.resolve(outcome as Result)
      })
    } catch (error) {
      for (const pending of batch) pending.reject(error)
    }
  }

  /** A batch is part of the work of each of its items, and was begun by whichever came first, of this batch or another. */
  function runTraced(batch: Pending<Item, Result>[], items: Item[]): Promise<readonly (Result | Error)[]> {
    return inBatchSpan(
      name,
      batch.map(({ trace }) => trace),
      () => run(items),
    )
  }
}

interface Pending<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
  /** What it is part of, where that is traced. */
  trace: string | undefined
}
