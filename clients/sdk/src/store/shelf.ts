import { Lines } from '../lines.ts'
import type { Store } from './store.ts'

/** Records below one prefix of a store. All are in memory too, in the order in which they came. */
export class Shelf<T extends { readonly atMs: number }> {
  readonly #store: Store
  readonly #prefix: string
  readonly #keptMs: number
  readonly #records = new Map<string, T>()
  readonly #lines = new Lines(Number.POSITIVE_INFINITY)

  private constructor(store: Store, prefix: string, keptMs: number) {
    this.#store = store
    this.#prefix = prefix
    this.#keptMs = keptMs
  }

  /** @param keptMs records are deleted when they are older. */
  static async open<T extends { readonly atMs: number }>(
    store: Store,
    prefix: string,
    keptMs: number,
  ): Promise<Shelf<T>> {
    const shelf = new Shelf<T>(store, prefix, keptMs)
    const found: [string, T][] = []
    for (const key of await store.keys(prefix)) {
      const text = await store.get(key)
      if (text !== undefined) found.push([key.slice(prefix.length), JSON.parse(text)])
    }
    for (const [name, record] of found.toSorted(([, one], [, other]) => one.atMs - other.atMs))
      shelf.#records.set(name, record)
    return shelf
  }

  /** A copy. */
  get(name: string): T | undefined {
    return structuredClone(this.#records.get(name))
  }

  /** The oldest first. */
  get entries(): [string, T][] {
    return [...this.#records]
  }

  /** Resolves when the record survives a crash. If that fails, the earlier record stays. */
  async put(name: string, record: T): Promise<T> {
    await this.#store.set(this.#prefix + name, JSON.stringify(record))
    this.#records.set(name, record)
    const [oldest] = this.#records
    if (oldest !== undefined && oldest[1].atMs < Date.now() - this.#keptMs) await this.delete(oldest[0])
    return record
  }

  /**
   * Changes one record, after all earlier changes of it.
   * @param work returns the record to keep. Undefined: it stays as it is. @returns the same.
   */
  change(name: string, work: (record: T | undefined) => T | undefined): Promise<T | undefined> {
    return this.#lines.run(name, async () => {
      const record = work(this.get(name))
      return record && this.put(name, record)
    })
  }

  async delete(name: string): Promise<void> {
    await this.#store.delete(this.#prefix + name)
    this.#records.delete(name)
  }
}
