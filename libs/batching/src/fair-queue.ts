/**
 * Runs a limited number of pieces of work at a time. Waiting work is served round-robin over its keys, and in order within a
 * key, so the wait of one key does not depend on how much work another one brings.
 */
import { RoundRobin } from './round-robin.ts'

interface FairQueueOptions {
  /** The most pieces of work of one group at a time, unless the group says another number. */
  atOnce: number
  /** At most one piece of work of each key at a time, e.g. because all of them need one lock. */
  oneOfKey?: boolean
  /**
   * The most that may wait, over all groups. Past it, the newest work of the key with most waiting work is refused: the caller's
   * own, if no key has more.
   */
  maxWaiting?: number
  /** The error of refused work. */
  overloaded?: () => Error
}

type Key = string | symbol

interface Turn {
  /** Who waits: a client, or a lock. */
  key: Key
  /** Groups of work do not wait for each other. */
  group?: string
  /** The most pieces of work of this group at a time. */
  atOnce?: number
}

interface Group {
  readonly atOnce: number
  running: number
  /** The keys of running work, if only one of each may run. */
  readonly busy: Set<Key>
  readonly waiting: RoundRobin<Key, Waiting>
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (reason: Error) => void
}

export class FairQueue {
  readonly #options: FairQueueOptions
  readonly #groups = new Map<string, Group>()
  #waiting = 0

  constructor(options: FairQueueOptions) {
    this.#options = options
  }

  get isFull(): boolean {
    return this.#waiting >= (this.#options.maxWaiting ?? Number.POSITIVE_INFINITY)
  }

  /** Runs the work when it is its turn. @throws `overloaded()` if too much work waits. */
  async runInTurn<T>({ key, group: name = '', atOnce }: Turn, work: () => PromiseLike<T>): Promise<T> {
    const group = this.#groupOf(name, atOnce ?? this.#options.atOnce)
    if (group.running < group.atOnce && !group.busy.has(key)) this.#occupy(group, key)
    else await this.#waitFor(group, key)
    try {
      return await work()
    } finally {
      this.#passOn(group, key)
    }
  }

  #groupOf(name: string, atOnce: number): Group {
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = { atOnce, running: 0, busy: new Set(), waiting: new RoundRobin() }
      this.#groups.set(name, group)
    }
    return group
  }

  #occupy(group: Group, key: Key): void {
    group.running += 1
    if (this.#options.oneOfKey === true) group.busy.add(key)
  }

  #waitFor({ waiting }: Group, key: Key): Promise<void> {
    if (this.isFull) this.#makeRoom(waiting.countOf(key))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.push(key, { begin: resolve, refuse: reject })
    this.#waiting += 1
    return promise
  }

  /** @param ofCaller how much work of the caller's key waits. */
  #makeRoom(ofCaller: number): void {
    let longest = {
      count: ofCaller,
      refuse: (reason: Error): void => {
        throw reason
      },
    }
    for (const { waiting } of this.#groups.values()) {
      const most = waiting.longest()
      if (most === undefined || most.count <= longest.count) continue
      longest = { count: most.count, refuse: (reason) => waiting.pop(most.key)?.refuse(reason) }
    }
    longest.refuse(this.#options.overloaded?.() ?? new Error('too much work waits for its turn'))
    this.#waiting -= 1
  }

  /** Gives the place of ended work to the next key. */
  #passOn(group: Group, key: Key): void {
    group.running -= 1
    group.busy.delete(key)
    const next = group.waiting.shift((other) => !group.busy.has(other))
    if (next === undefined) return
    this.#waiting -= 1
    this.#occupy(group, next.key)
    next.item.begin()
  }
}
