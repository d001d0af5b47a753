/**
 * Members by client, each in the order in which they were last active. Finds the one to give up for a newcomer: the longest idle
 * of the client that has most of them. All of it is O(1), amortized.
 */
export interface Crowd<T> {
  readonly size: number
  countOf(client: string): number
  membersOf(client: string): readonly T[]
  add(client: string, member: T): void
  /** It is the one of its client that was active last. */
  touch(member: T): void
  remove(member: T): void
  /** @param client whose members are looked at; without it, those of the client that has most idle ones. */
  longestIdle(client?: string): T | undefined
}

interface Client<T> {
  readonly members: Set<T>
  /** Members that were idle when they were last looked at, the longest idle first. A busy one leaves it when it is found. */
  readonly idle: Set<T>
}

/** @param isBusy whether a member is in the middle of something, and stays. It is touched when that is over. */
export function createCrowd<T>(isBusy: (member: T) => boolean): Crowd<T> {
  const clients = new Map<string, Client<T>>()
  const clientOf = new Map<T, { readonly key: string; readonly client: Client<T> }>()
  /** Clients by how many idle members they have. */
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
