/**
 * Where an agent keeps what must survive its process: pins of keys, the place in its events, answers under way. Keys are at
 * most 200 characters of `A-Za-z0-9_/.-`. Values are text. One process at a time uses a store.
 */
export interface Store {
  get(key: string): Promise<string | undefined>
  /** Resolves when the value survives a crash. Replaces an earlier value as a whole. */
  set(key: string, value: string): Promise<void>
  /** A no-op if there is no such key. */
  delete(key: string): Promise<void>
  /** The keys with this prefix, in no order. */
  keys(prefix: string): Promise<string[]>
}

/** A store that is gone with its process, for tests and for agents that may forget. */
export function createMemoryStore(): Store {
  const values = new Map<string, string>()
  return {
    get: async (key) => values.get(key),
    async set(key, value) {
      values.set(key, value)
    },
    async delete(key) {
      values.delete(key)
    },
    keys: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
  }
}
