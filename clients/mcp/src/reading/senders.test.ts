import { AgentClient } from '@svc/sdk/client.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { createMemoryStore } from '@svc/sdk/store/store.ts'
import { expect, test } from 'vitest'
import { Senders } from './senders.ts'

const authority = 'messages.example'
const signal = new AbortController().signal
const [alice, bob, mallory] = [generateKey(), generateKey(), generateKey()]
const agentOf = (name: string, { agentId, pubkey } = bob): object => ({
  agent_id: agentId,
  name,
  pubkey,
  created_at: 1,
  revoked: false,
})

/** The senders of alice, and the paths that the service was asked for. */
function scene({
  listed = [],
  store = createMemoryStore(),
}: {
  listed?: object[]
  store?: ReturnType<typeof createMemoryStore>
} = {}): {
  senders: Senders
  asked: string[]
  directory: Map<string, object>
  client: AgentClient
} {
  const asked: string[] = []
  const directory = new Map([['bob', agentOf('bob')]])
  const client = new AgentClient({
    url: 'http://127.0.0.1:9',
    key: alice,
    authority,
    name: 'alice',
    store,
    async fetch(input) {
      const { pathname } = new URL(String(input))
      asked.push(pathname)
      if (pathname === '/v2/agents') return Response.json({ agents: listed, next_cursor: '' })
      const agent = directory.get(pathname.slice('/v2/agents/'.length))
      if (agent !== undefined) return Response.json(agent)
      return Response.json({ error: { code: 'not_found', message: '' } }, { status: 404 })
    },
  })
  const used = new Set<string>()
  const marks = { has: (id: string) => used.has(id), add: (id: string) => void used.add(id) }
  const own = { agentId: alice.agentId, pubkey: alice.pubkey, name: 'alice', authority }
  return { senders: new Senders(client, marks, own), asked, directory, client }
}

test.each([
  [alice.agentId, true],
  ['alice@messages.example', true],
  ['alice@MESSAGES.example', true],
  ['alice@elsewhere.example', false],
  ['alice@messages.example:8080', false],
  ['alice', false],
  [bob.agentId, false],
  ['bob@messages.example', false],
  ['', false],
])('spec 6.2: this agent is recognized by id and by address, and only under its own authority: %s', (from, isOwn) => {
  expect(scene().senders.isOwn(from)).toBe(isOwn)
})

test('spec 13.5: an address is looked up once; the key is the first answer of the service until somebody uses the name', async () => {
  const { senders, asked } = scene()
  const found = { agentId: bob.agentId, name: 'bob', pubkey: bob.pubkey }
  for (let time = 0; time < 2; time += 1)
    expect(await senders.ofSender(`bob@${authority}`, signal)).toEqual({
      ...found,
      source: 'first_answer',
      isUsed: false,
    })
  expect(asked).toEqual(['/v2/agents/bob'])
  // The id is known from now on.
  expect(await senders.ofSender(bob.agentId, signal)).toMatchObject(found)
  const named = await senders.ofName('bob', signal)
  expect(named).toEqual({ ...found, source: 'first_answer', isUsed: true })
  // The call that names the agent has perhaps only asked the person so far.
  expect(await senders.ofName('bob', signal)).toEqual(named)
  senders.use({ ...named, isUsed: false })
  expect(await senders.ofSender(`bob@${authority}`, signal)).toMatchObject({ isUsed: false })
  senders.use(named)
  expect(await senders.ofName(`bob@${authority}`, signal)).toEqual({ ...found, source: 'pinned', isUsed: true })
  expect(await senders.ofSender(`bob@${authority}`, signal)).toEqual({ ...found, source: 'pinned', isUsed: true })
  expect(asked).toEqual(['/v2/agents/bob'])
})

test('an address of another service, a name that nobody has, and a text that is neither have no key', async () => {
  const { senders, asked } = scene()
  for (const from of ['bob@elsewhere.example', `nobody@${authority}`, 'bob', `board:${'a'.repeat(26)}`])
    expect(await senders.ofSender(from, signal), from).toBeUndefined()
  expect(asked).toEqual(['/v2/agents/nobody'])
  await expect(senders.ofName('bob@elsewhere.example', signal)).rejects.toMatchObject({ code: 'recipient_not_local' })
  await expect(senders.ofName('nobody', signal)).rejects.toMatchObject({ code: 'unknown_agent' })
})

test('an id is found in the directory, and its name is pinned; an entry that takes a pinned name away proves nothing', async () => {
  const posing = agentOf('bob', mallory)
  const forged = { ...agentOf('carol', mallory), agent_id: generateKey().agentId }
  const { senders } = scene({ listed: [posing, forged, agentOf('dave', generateKey())] })
  await senders.ofName('bob', signal)
  expect(await senders.ofSender(mallory.agentId, signal)).toBeUndefined()
  const honest = scene({ listed: [posing] })
  expect(await honest.senders.ofSender(mallory.agentId, signal)).toMatchObject({ name: 'bob', isUsed: false })
  await expect(honest.senders.check('bob', signal)).rejects.toMatchObject({ reason: 'key_changed' })
})
