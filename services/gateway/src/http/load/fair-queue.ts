/** A queue in which clients take turns, so how long one client waits does not depend on how much another one asks for. */
export class FairQueue<T> {
  /** The first client is next, and then goes to the end. */
  readonly #waiting = new Map<string, T[]>()

  push(client: string, item: T): void {
    const own = this.#waiting.get(client)
    if (own === undefined) this.#waiting.set(client, [item])
    else own.push(item)
  }

  /** Takes the oldest item of the client whose turn it is. */
  shift(): T | undefined {
    const [next] = this.#waiting
    if (next === undefined) return undefined
    const [client, own] = next
    const item = own.shift()
    this.#waiting.delete(client)
    if (own.length > 0) this.#waiting.set(client, own)
    return item
  }

  /** Takes the newest item of a client. */
  pop(client: string): T | undefined {
    const own = this.#waiting.get(client)
    const item = own?.pop()
    if (own?.length === 0) this.#waiting.delete(client)
    return item
  }

  countOf(client: string): number {
    return this.#waiting.get(client)?.length ?? 0
  }

  /** The client with most items. */
  longest(): { readonly client: string; readonly count: number } {
    let longest = { client: '', count: 0 }
    for (const [client, { length }] of this.#waiting) if (length > longest.count) longest = { client, count: length }
    return longest
  }
}
