/**
 * Members grouped by client, ordered by last activity. Finds the member to evict for a newcomer: the longest idle one of the
 * client that has most idle members. All operations are O(1), amortized.
 */
interface Crowd<T> {
  readonly size: number
  countOf(client: string): number
  membersOf(client: string): readonly T[]
  add(client: string, member: T): void
  /** Marks the member as the most recently active one of its client. */
  touch(member: T): void
  remove(member: T): void
  /** @param client whose members to consider; by default, the client that has most idle members. */
  longestIdle(client?: string): T | undefined
}

interface Client<T> {
  readonly members: Set<T>
  /** Members that were idle when last checked, longest idle first. A busy member stays in it until `longestIdle` finds it. */
  readonly idle: Set<T>
}

/** @param isBusy whether a member is busy and must not be evicted. The caller calls `touch` when it is idle again. */
export function createCrowd<T>(isBusy: (member: T) => boolean): Crowd<T> {
  const clients = new Map<string, Client<T>>()
  const clientOf = new Map<T, { readonly key: string; readonly client: Client<T> }>()
  /** Clients by their number of idle members. */
  const levels: Set<Client<T>>[] = []
  let most = 0

  return {
    get size() {
      return clientOf.size
    },
    countOf: (client) => clients.get(client)?.members.size ?? 0,
    membersOf: (client) => [...(clients.get(client)?.members ?? [])],
    add(key, member) {
      const client = clients.get(key) ?? { members: new Set(), idle: new Set() }
      clients.set(key, client)
      clientOf.set(member, { key, client })
      client.members.add(member)
      setIdle(client, member)
    },
    touch(member) {
      const found = clientOf.get(member)
      if (found === undefined) return
      if (found.client.idle.delete(member)) found.client.idle.add(member)
      else setIdle(found.client, member)
    },
    remove(member) {
      const found = clientOf.get(member)
      if (found === undefined) return
      clientOf.delete(member)
      found.client.members.delete(member)
      if (found.client.members.size === 0) clients.delete(found.key)
      unsetIdle(found.client, member)
    },
    longestIdle(key) {
      for (;;) {
        const client = key === undefined ? first(levels[most]) : clients.get(key)
        const member = client === undefined ? undefined : first(client.idle)
        if (client === undefined || member === undefined) return undefined
        if (!isBusy(member)) return member
        unsetIdle(client, member)
      }
    },
  }

  function setIdle(client: Client<T>, member: T): void {
    levels[client.idle.size]?.delete(client)
    client.idle.add(member)
    const size = client.idle.size
    levels[size] = (levels[size] ?? new Set()).add(client)
    most = Math.max(most, size)
  }

  function unsetIdle(client: Client<T>, member: T): void {
    const size = client.idle.size
    if (!client.idle.delete(member)) return
    levels[size]?.delete(client)
    if (size > 1) levels[size - 1] = (levels[size - 1] ?? new Set()).add(client)
    if (most === size && levels[size]?.size === 0) most = size - 1
  }
}

function first<V>(values: Set<V> | undefined): V | undefined {
  return values?.values().next().value
}
