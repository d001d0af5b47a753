import { expect, test } from 'vitest'
import { generateKey } from '../keys.ts'
import { createMemoryStore } from '../store/store.ts'
import { People } from './people.ts'

const [bob, mallory] = [generateKey(), generateKey()]

/** People whose service gives these keys for bob, one after the other. */
function startPeople(...pubkeys: string[]): { people: People; store: ReturnType<typeof createMemoryStore> } {
  const store = createMemoryStore()
  const ask = async () => ({ name: 'bob', pubkey: pubkeys.shift() }) as never
  return { store, people: new People({ store, ask, authority: async () => 'x' }) }
}

test('of two look-ups at the same time whose answers differ, one is refused', async () => {
  const { people, store } = startPeople(bob.pubkey, mallory.pubkey)
  const ends = await Promise.allSettled([people.resolve('bob', undefined), people.resolve('bob', undefined)])
  expect(ends).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { reason: 'key_changed' } }])
  expect(await store.get('pin/bob')).toBe(bob.pubkey)
})

test('if the sender is expected to have an agent id, an answer with another id is not pinned', async () => {
  const { people, store } = startPeople(mallory.pubkey, bob.pubkey)
  const envelope = { id: 'message-1', from: 'bob@x' }
  await expect(people.keyOfSender(envelope, bob.agentId, undefined)).rejects.toMatchObject({ reason: 'wrong_key' })
  expect(await store.get('pin/bob')).toBeUndefined()
  expect(await people.keyOfSender(envelope, bob.agentId, undefined)).toHaveLength(32)
  expect(await store.get('pin/bob')).toBe(bob.pubkey)
})

test('a damaged pin is named', async () => {
  const { people, store } = startPeople(bob.pubkey)
  await store.set('pin/bob', 'ed25519:00')
  await expect(people.resolve('bob', undefined)).rejects.toThrow('pin/bob in the store is damaged')
})
