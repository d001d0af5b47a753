/** Waiting items, taken round-robin over their keys, and in order within a key. */
export class RoundRobin<Key, Item> {
  /** The first key is next, and then goes to the end. */
  readonly #waiting = new Map<Key, Item[]>()

  push(key: Key, item: Item): void {
    const own = this.#waiting.get(key)
    if (own === undefined) this.#waiting.set(key, [item])
    else own.push(item)
  }

  /** Takes the oldest item of the first key that may have a turn. */
  shift(mayTake: (key: Key) => boolean = () => true): { readonly key: Key; readonly item: Item } | undefined {
    for (const [key, own] of this.#waiting) {
      if (!mayTake(key)) continue
      const item = own.shift() as Item // no key has an empty list
      this.#waiting.delete(key)
      if (own.length > 0) this.#waiting.set(key, own)
      return { key, item }
    }
    return undefined
  }

  /** Takes the newest item of a key. */
  pop(key: Key): Item | undefined {
    const own = this.#waiting.get(key)
    const item = own?.pop()
    if (own?.length === 0) this.#waiting.delete(key)
    return item
  }

  countOf(key: Key): number {
    return this.#waiting.get(key)?.length ?? 0
  }

  /** The key with most items. */
  longest(): { readonly key: Key; readonly count: number } | undefined {
    let longest: { key: Key; count: number } | undefined
    for (const [key, { length: count }] of this.#waiting) if (count > (longest?.count ?? 0)) longest = { key, count }
    return longest
  }
}
