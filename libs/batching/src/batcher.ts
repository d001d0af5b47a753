/**
 * Natural batching: the first call runs at once. Calls that arrive during a run share the next run. No timer delays a call
 * that somebody waits for, so an idle system adds no latency. Under load, one packet and one commit serve many calls.
 */
import { defineDistribution, defineLevel } from '@svc/telemetry/metrics.ts'
import { activeTrace, inBatchSpan, isTracing } from '@svc/telemetry/tracing.ts'

export interface BatcherOptions<Item, Result> {
  /**
   * Does the work of one batch. Returns one outcome for each item, in order; an Error rejects that item alone. If it throws,
   * every item of the batch is rejected.
   */
  run: (items: Item[]) => Promise<readonly (Result | Error)[]>
  /** The name in metrics and traces; without it the batches appear in neither. */
  name?: string
  /** The most items in one run. */
  maxItems?: number
  /** The most concurrent runs. More runs make use of a slow round trip; fewer runs make larger batches. */
  concurrency?: number
  /** Items with a common key never share a run, so that set-based work sees each key once. They keep their order. */
  keyOf?: (item: Item) => string | readonly string[]
  /** A run starts after a tick of the event loop that brought no more items, which groups calls from different sockets. */
  gathers?: boolean
  /**
   * Only for work that nobody waits for: a run starts when it is full, or this long after its first item came or the previous run
   * ended. Then few runs do the work of many, and they compete less with the calls that somebody waits for (ADR 31).
   */
  lingerMs?: number
  /** The most items that wait. Further calls are rejected with `overloaded()`, because no queue may be unbounded. */
  maxWaiting?: number
  /** The error of a call that is rejected because too many items wait. */
  overloaded?: () => Error
}

export type Batcher<Item, Result> = (item: Item) => Promise<Result>

const batchItems = defineDistribution({
  name: 'agentmsg_batch_items',
  help: 'Items in one batch',
  labels: ['batch'],
  buckets: [1, 2, 4, 8, 16, 32, 64, 128, 1_000],
})
const batchWaiting = defineLevel({
  name: 'agentmsg_batch_waiting',
  help: 'Items that wait for their batch',
  labels: ['batch'],
})

const DEFAULT_MAX_ITEMS = 128
const DEFAULT_MAX_WAITING = 10_000
/**
 * A run starts after this many ticks of the event loop, even if each brought more items (ADR 30). A tick collects only the input
 * that was ready when it began, and clients send faster than it is processed. A run after each tick would get only a few
 * items.
 */
const MAX_GATHERING_TICKS = 3

/** Groups calls into runs. The returned function's promise settles with its own item's outcome. */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const batches = new Batches(options)
  return (item) => batches.addItem(item)
}

class Batches<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #maxItems: number
  readonly #concurrency: number
  readonly #maxWaiting: number
  readonly #lingerMs: number
  #waiting: Pending<Item, Result>[] = []
  #running = 0
  #isScheduled = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: BatcherOptions<Item, Result>) {
    const {
      name,
      maxItems = DEFAULT_MAX_ITEMS,
      concurrency = 1,
      maxWaiting = DEFAULT_MAX_WAITING,
      lingerMs = 0,
    } = options
    this.#options = options
    this.#maxItems = maxItems
    this.#concurrency = concurrency
    this.#maxWaiting = maxWaiting
    this.#lingerMs = lingerMs
    if (name !== undefined) batchWaiting.read(() => [[{ batch: name }, this.#waiting.length]])
  }

  addItem(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.#waiting.length >= this.#maxWaiting) {
        reject(this.#options.overloaded?.() ?? new Error('too many calls wait for a batch'))
        return
      }
      this.#waiting.push({ item, resolve, reject, trace: isTracing() ? activeTrace() : undefined })
      this.#scheduleRun()
    })
  }

  // A run starts after the current microtasks, so that calls made together share it.
  #scheduleRun(): void {
    if (this.#isScheduled || this.#running >= this.#concurrency) return
    if (this.#lingerMs > 0 && this.#waiting.length < this.#maxItems) {
      this.#timer ??= setTimeout(() => this.#startRun(), this.#lingerMs).unref()
      return
    }
    this.#isScheduled = true
    if (this.#options.gathers === true) setImmediate(() => this.#gatherItems(0, MAX_GATHERING_TICKS))
    else queueMicrotask(() => this.#startRun())
  }

  /** @param before the number of items that waited a tick ago. */
  #gatherItems(before: number, ticksLeft: number): void {
    const { length } = this.#waiting
    if (ticksLeft > 0 && length > before && length < this.#maxItems) {
      setImmediate(() => this.#gatherItems(length, ticksLeft - 1))
    } else {
      this.#startRun()
    }
  }

  #startRun(): void {
    this.#isScheduled = false
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting.length === 0 || this.#running >= this.#concurrency) return
    const batch = this.#takeBatch()
    this.#running += 1
    void this.#runBatch(batch).finally(() => {
      this.#running -= 1
      if (this.#waiting.length > 0) this.#scheduleRun()
    })
    if (this.#waiting.length > 0) this.#scheduleRun()
  }

  #takeBatch(): Pending<Item, Result>[] {
    const { keyOf } = this.#options
    if (keyOf === undefined) {
      if (this.#waiting.length <= this.#maxItems) {
        const all = this.#waiting
        this.#waiting = []
        return all
      }
      return this.#waiting.splice(0, this.#maxItems)
    }
    const keys = new Set<string>()
    const taken: Pending<Item, Result>[] = []
    const left: Pending<Item, Result>[] = []
    for (const pending of this.#waiting) {
      const own = keyOf(pending.item)
      const itemKeys = typeof own === 'string' ? [own] : own
      if (taken.length < this.#maxItems && !itemKeys.some((key) => keys.has(key))) taken.push(pending)
      else left.push(pending)
      // Also add the keys of an item that has to wait, so that later items with these keys do not overtake it.
      for (const key of itemKeys) keys.add(key)
    }
    this.#waiting = left
    return taken
  }

  async #runBatch(batch: Pending<Item, Result>[]): Promise<void> {
    try {
      if (this.#options.name !== undefined) batchItems.observe({ batch: this.#options.name }, batch.length)
      const items = batch.map((pending) => pending.item)
      const outcomes = isTracing() ? await this.#runTraced(batch, items) : await this.#options.run(items)
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

  /** Traces the batch as part of all its items, not only of the call that happens to start it. */
  #runTraced(batch: Pending<Item, Result>[], items: Item[]): Promise<readonly (Result | Error)[]> {
    return inBatchSpan(
      this.#options.name,
      batch.map(({ trace }) => trace),
      () => this.#options.run(items),
    )
  }
}

interface Pending<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
  /** The trace of the call, if there is one. */
  trace: string | undefined
}
