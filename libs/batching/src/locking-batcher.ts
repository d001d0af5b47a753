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
  const { name, maxItems, keyOf, lockOf, run, isLockTimeout, unavailable } = options
  const shared = {
    overloaded: () => unavailable('too many items wait for a batch'),
    ...(maxItems === undefined ? {} : { maxItems }),
  }
  const queues = new Map<string, { items: number; call: Batcher<Item, Result> }>()
  const waiters = new FairQueue({ atOnce: MAX_WAITERS })
  const together = createBatcher<Item, Result | typeof BUSY>({
    ...shared,
    ...(name === undefined ? {} : { name }),
    ...(keyOf === undefined ? {} : { keyOf }),
    run: async (items) => {
      // Queues that have formed while the items waited for this run.
      const isQueued = items.map((item) => queues.has(lockOf(item)))
      if (!isQueued.includes(true)) return attemptTogether(items)
      const outcomes = (await attemptTogether(items.filter((_, at) => !isQueued[at]))).values()
      return isQueued.map((queued) => (queued ? BUSY : (outcomes.next().value as Outcome<Result>)))
    },
  })

  return async (item) => {
    const lock = lockOf(item)
    if (!queues.has(lock)) {
      const outcome = await together(item)
      if (outcome !== BUSY) return outcome
    }
    return enqueue(lock, item)
  }

  async function enqueue(lock: string, item: Item): Promise<Result> {
    const queue = queues.get(lock) ?? { items: 0, call: createQueue() }
    queues.set(lock, queue)
    queue.items += 1
    try {
      return await queue.call(item)
    } finally {
      queue.items -= 1
      if (queue.items === 0) queues.delete(lock)
    }
  }

  /** Items that need the same lock. */
  function createQueue(): Batcher<Item, Result> {
    const call = createBatcher<Waiting<Item>, Result>({
      ...shared,
      ...(keyOf === undefined ? {} : { keyOf: ({ item }) => keyOf(item) }),
      run: untilFree,
    })
    return (item) => call({ item, untilMs: Date.now() + GIVE_UP_MS })
  }

  async function untilFree(waiting: Waiting<Item>[]): Promise<(Result | Error)[]> {
    const ended = new Map<Waiting<Item>, Result | Error>()
    for (;;) {
      const nowMs = Date.now()
      const live = waiting.filter((one) => !ended.has(one) && one.untilMs > nowMs)
      if (live.length === 0)
        return waiting.map((one) => ended.get(one) ?? unavailable('another transaction holds the lock'))
      const items = live.map(({ item }) => item)
      const outcomes = await waiters.runInTurn({ key: lockOf(items[0] as Item) }, () => attempt(items, TURN))
      live.forEach((one, at) => {
        const outcome = outcomes[at]
        if (outcome !== undefined && outcome !== BUSY) ended.set(one, outcome)
      })
    }
  }

  async function attemptTogether(items: Item[]): Promise<readonly Outcome<Result>[]> {
    if (items.length === 0) return []
    const outcomes = await attempt(items, USUAL)
    const gotNone = outcomes.every((outcome) => outcome === BUSY)
    return gotNone && items.length > 1 ? attempt(items, SKIPPING) : outcomes
  }

  async function attempt(items: Item[], wait: LockWait): Promise<Outcome<Result>[]> {
    try {
      const outcomes = await run(items, wait)
      return outcomes.map((outcome) => (isLockTimeout(outcome) ? BUSY : outcome))
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      return items.map(() => BUSY)
    }
  }
}
