import { generateKey } from '@svc/sdk/keys.ts'
import { describe, expect, test } from 'vitest'
import { AUTHORITY, createFakeContext, createFakeDirectory, createKept, type FakeDirectory } from './fake-context.ts'
import { labelOf, People } from './people.ts'

const [alice, bob, carol, mallory] = [generateKey(), generateKey(), generateKey(), generateKey()]

async function peopleOf(directory: FakeDirectory, kept = createKept()): Promise<People> {
  const people = new People(createFakeContext({ name: 'alice', key: alice }, directory, kept))
  await people.load()
  return people
}

describe('spec 6.1: a sender is named by its address or by its id', () => {
  test('an address is met once, and is then the same agent as its id', async () => {
    const directory = createFakeDirectory({ bob })
    const people = await peopleOf(directory)
    const address = `bob@${AUTHORITY}`
    expect([people.find(address), labelOf(people, address)]).toEqual([undefined, address])
    await Promise.all([people.meet(address), people.meet(address)])
    const met = { agentId: bob.agentId, name: 'bob', pubkey: bob.pubkey, source: 'directory' }
    const found = [
      people.find(address),
      people.find('bob'),
      people.find(bob.agentId),
      people.find('bob@MESSAGES.example'),
    ]
    expect(found).toEqual([met, met, met, met])
    expect([labelOf(people, address), labelOf(people, bob.agentId)]).toEqual(['bob', 'bob'])
    expect(directory.asked).toEqual(['/v2/agents/bob'])
  })

  test('the own address and the own id are the own agent, whatever the service says', async () => {
    const people = await peopleOf(createFakeDirectory({ alice: mallory }))
    expect([`alice@${AUTHORITY}`, alice.agentId, 'alice'].map((who) => people.isOwn(who))).toEqual([true, true, true])
    expect([`bob@${AUTHORITY}`, 'alice@elsewhere.example', bob.agentId].map((who) => people.isOwn(who))).toEqual([
      false,
      false,
      false,
    ])
  })

  test('nobody is met under the address of another service, or under a name that the service does not know', async () => {
    const directory = createFakeDirectory({ bob })
    const people = await peopleOf(directory)
    expect(await people.meet('bob@elsewhere.example')).toBeUndefined()
    expect(directory.asked).toEqual([])
    expect(await people.meet(`carol@${AUTHORITY}`)).toBeUndefined()
  })

  test('an id is looked for in what is kept, and then in the directory', async () => {
    const directory = createFakeDirectory({ bob, carol })
    const kept = createKept()
    expect(await (await peopleOf(directory, kept)).meet(bob.agentId)).toBeUndefined()
    directory.listed.add('bob')
    expect(await (await peopleOf(directory, kept)).meet(bob.agentId)).toMatchObject({ name: 'bob' })
    directory.asked.length = 0
    expect(await (await peopleOf(directory, kept)).meet(bob.agentId)).toMatchObject({ name: 'bob' })
    expect(directory.asked).toEqual([])
  })
})

describe('spec 13.5: the key that was given first for a name is kept', () => {
  test('over reloads, and another key is refused', async () => {
    const directory = createFakeDirectory({ bob })
    const kept = createKept()
    await (await peopleOf(directory, kept)).meet(`bob@${AUTHORITY}`)
    directory.keys.set('bob', mallory)
    directory.listed.add('bob')
    const people = await peopleOf(directory, kept)
    expect(await people.meet(`bob@${AUTHORITY}`)).toMatchObject({ agentId: bob.agentId })
    await expect(people.lookUp('bob')).rejects.toMatchObject({ reason: 'key_changed' })
    await expect(people.meet(mallory.agentId)).rejects.toMatchObject({ reason: 'key_changed' })
    expect([people.find(mallory.agentId), people.find('bob')?.agentId]).toEqual([undefined, bob.agentId])
  })

  test('a key that a person has compared holds against the service, and stays a pin when its agent is met', async () => {
    const directory = createFakeDirectory({ bob: mallory })
    const kept = createKept()
    await (await peopleOf(directory, kept)).pin(bob.pubkey, 'bob')
    const people = await peopleOf(directory, kept)
    expect(await people.meet(`bob@${AUTHORITY}`)).toMatchObject({ agentId: bob.agentId, source: 'pinned' })
    expect(directory.asked).toEqual([])
    await people.unpin(bob.agentId)
    expect(people.find('bob')).toMatchObject({ agentId: bob.agentId, source: 'directory' })
  })

  test('a pin without a name gets its name when its agent is met', async () => {
    const people = await peopleOf(createFakeDirectory({ bob }))
    await people.pin(bob.pubkey)
    await people.meet(`bob@${AUTHORITY}`)
    expect(people.find(bob.agentId)).toMatchObject({ name: 'bob', source: 'pinned' })
  })
})
