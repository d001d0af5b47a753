/**
 * Batches of items that each need a lock in a database. A stalled lock must not delay items that do not need it
 * (head-of-line blocking), so those items continue without the ones that do
 * (docs/adr/0014-locks-are-not-waited-for-long.md).
 */
import { type Batcher, type BatcherOptions, createBatcher } from './batcher.ts'
import { FairQueue } from './fair-queue.ts'

/** How a run handles locks that another transaction holds. */
export interface LockWait {
  /** The longest wait for each lock. If it is exceeded, the run throws and has had no effect. */
  readonly waitMs: number
  /** If true, the run waits for no item's lock, and returns `BUSY` for each item whose lock is held. */
  readonly skipBusy: boolean
}

export const BUSY = Symbol('busy')

type Outcome<Result> = Result | Error | typeof BUSY

interface LockingBatcherOptions<Item, Result>
  extends Pick<BatcherOptions<Item, Result>, 'name' | 'maxItems' | 'keyOf'> {
  /** The lock that items queue for while it is busy. */
  lockOf: (item: Item) => string
  run: (items: Item[], wait: LockWait) => Promise<readonly Outcome<Result>[]>
  /** Whether a run, or one item of it, failed because it did not get a lock in time. */
  isLockTimeout: (error: unknown) => boolean
  /** The error for an item whose lock stays busy, or that arrives when too many items wait. */
  unavailable: (reason: string) => Error
}

/** A commit takes milliseconds. If a lock is held for longer, its transaction is stalled. */
const USUAL: LockWait = { waitMs: 100, skipBusy: false }
/** The wait applies only to locks that do not belong to an item. */
const SKIPPING: LockWait = { waitMs: 1_000, skipBusy: true }
/** A queue waits this long for its lock, and then makes room for the next queue. */
const TURN: LockWait = { waitMs: 250, skipBusy: false }
/** The most queues that wait in the database at once. Each occupies a connection of the pool. */
export const MAX_WAITERS = 2
/** An item gives up after this time, so that it is answered before its caller's timeout of 5 s. */
const GIVE_UP_MS = 4_000

interface Waiting<Item> {
  item: Item
  untilMs: number
}

/**
 * Like `createBatcher`, with one run at a time. If a run does not get its locks in time, it is repeated without the items
 * whose locks are busy. Those items, and later items for the same lock, queue in order until the lock is free.
 */
export function createLockingBatcher<Item, Result>(
  options: LockingBatcherOptions<Item, Result>,
): Batcher<Item, Result> {
  const batcher = new LockingBatcher(options)
  return (item) => batcher.runItem(item)
}

class LockingBatcher<Item, Result> {
  readonly #options: LockingBatcherOptions<Item, Result>
  /** Batches of items whose locks are free, as far as is known. */
  readonly #together: Batcher<Item, Result | typeof BUSY>
  /** Items that wait for a busy lock, by lock. */
  readonly #queues = new Map<string, { items: number; call: Batcher<Item, Result> }>()
  readonly #waiters = new FairQueue({ atOnce: MAX_WAITERS })

  constructor(options: LockingBatcherOptions<Item, Result>) {
    this.#options = options
    const { name, keyOf } = options
    this.#together = createBatcher({
      ...this.#shared(),
      ...(name === undefined ? {} : { name }),
      ...(keyOf === undefined ? {} : { keyOf }),
      run: (items) => this.#runFree(items),
    })
  }

  async runItem(item: Item): Promise<Result> {
    const lock = this.#options.lockOf(item)
    if (!this.#queues.has(lock)) {
      const outcome = await this.#together(item)
      if (outcome !== BUSY) return outcome
    }
    return this.#queueForLock(lock, item)
  }

  #shared() {
    const { maxItems, unavailable } = this.#options
    return {
      overloaded: () => unavailable('too many items wait for a batch'),
      ...(maxItems === undefined ? {} : { maxItems }),
    }
  }

  /** Leaves out the items whose lock has become busy while they waited for this run. */
  async #runFree(items: Item[]): Promise<readonly Outcome<Result>[]> {
    const isQueued = items.map((item) => this.#queues.has(this.#options.lockOf(item)))
    if (!isQueued.includes(true)) return this.#attemptTogether(items)
    const outcomes = (await this.#attemptTogether(items.filter((_, at) => !isQueued[at]))).values()
    return isQueued.map((queued) => (queued ? BUSY : (outcomes.next().value as Outcome<Result>)))
  }

  async #queueForLock(lock: string, item: Item): Promise<Result> {
    const queue = this.#queues.get(lock) ?? { items: 0, call: this.#createQueue() }
    this.#queues.set(lock, queue)
    queue.items += 1
    try {
      return await queue.call(item)
    } finally {
      queue.items -= 1
      if (queue.items === 0) this.#queues.delete(lock)
    }
  }

  /** Items that need the same lock. */
  #createQueue(): Batcher<Item, Result> {
    const { keyOf } = this.#options
    const call = createBatcher<Waiting<Item>, Result>({
      ...this.#shared(),
      ...(keyOf === undefined ? {} : { keyOf: ({ item }) => keyOf(item) }),
      run: (waiting) => this.#runUntilFree(waiting),
    })
    return (item) => call({ item, untilMs: Date.now() + GIVE_UP_MS })
  }

  async #runUntilFree(waiting: Waiting<Item>[]): Promise<(Result | Error)[]> {
    const ended = new Map<Waiting<Item>, Result | Error>()
    for (;;) {
      const nowMs = Date.now()
      const live = waiting.filter((one) => !ended.has(one) && one.untilMs > nowMs)
      if (live.length === 0)
        return waiting.map((one) => ended.get(one) ?? this.#options.unavailable('another transaction holds the lock'))
      const items = live.map(({ item }) => item)
      const outcomes = await this.#waiters.runInTurn({ key: this.#options.lockOf(items[0] as Item) }, () =>
        this.#runWithLocks(items, TURN),
      )
      live.forEach((one, at) => {
        const outcome = outcomes[at]
        if (outcome !== undefined && outcome !== BUSY) ended.set(one, outcome)
      })
    }
  }

  async #attemptTogether(items: Item[]): Promise<readonly Outcome<Result>[]> {
    if (items.length === 0) return []
    const outcomes = await this.#runWithLocks(items, USUAL)
    const gotNone = outcomes.every((outcome) => outcome === BUSY)
    return gotNone && items.length > 1 ? this.#runWithLocks(items, SKIPPING) : outcomes
  }

  async #runWithLocks(items: Item[], wait: LockWait): Promise<Outcome<Result>[]> {
    try {
      const outcomes = await this.#options.run(items, wait)
      return outcomes.map((outcome) => (this.#options.isLockTimeout(outcome) ? BUSY : outcome))
    } catch (error) {
      if (!this.#options.isLockTimeout(error)) throw error
      return items.map(() => BUSY)
    }
  }
}
