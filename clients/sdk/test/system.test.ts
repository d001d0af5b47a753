import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { AgentClient } from '@svc/sdk/client.ts'
import type { ClientOptions } from '@svc/sdk/http/options.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { type SharedSystem, shareSystem } from '@svc/test/support/system/shared-system.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { collect } from './agents.ts'

const run = promisify(execFile)
const EXAMPLES = ['two-agents.ts', 'board.ts'].map((name) => new URL(`../examples/${name}`, import.meta.url))
const README = new URL('../README.md', import.meta.url)

let system: SharedSystem
let made = 0

beforeAll(async () => {
  system = await shareSystem('usual')
})
afterAll(() => system?.[Symbol.asyncDispose]())

/** A registered agent. Each agent uses another gateway. */
async function agent(options: Partial<ClientOptions> = {}) {
  made += 1
  const key = generateKey()
  const name = `sdk-${randomBytes(6).toString('hex')}`
  const client = new AgentClient({ url: system.urls[made % system.urls.length] ?? '', key, ...options })
  await client.register(name)
  return { name, key, client }
}

test('every call, against the system', async () => {
  const [alice, bob] = [await agent(), await agent()]
  const address = (who: { name: string }) => `${who.name}@${system.authority}`
  expect(await alice.client.health()).toMatchObject({ status: 'ok' })
  expect(await alice.client.manifest()).toMatchObject({ authority: system.authority, retention_days: 30 })
  expect(await alice.client.me()).toMatchObject({ address: address(alice), agent: { pubkey: alice.key.pubkey } })
  expect(await alice.client.register(alice.name)).toEqual({ agent_id: alice.key.agentId, address: address(alice) })
  expect(await bob.client.updateSettings({ discoverable: true })).toMatchObject({ discoverable: true })
  expect(await collect(alice.client.agents({ pageSize: 1 }))).toContainEqual(await alice.client.lookup(bob.name))

  // A stranger's first message waits in `requests`. Accepting the stranger moves it to the inbox.
  const first = await alice.client.send({ to: bob.name, body: 'first' })
  expect(first).toMatchObject({ lane: 'requests', duplicate: false, sender_authenticated: true })
  expect(await bob.client.acceptReplies(alice.name)).toBe('accepted')
  expect(await bob.client.acceptReplies(address(alice))).toBe('already')
  expect(await new AgentClient({ url: system.urls[0] ?? '', key: bob.key }).acceptReplies(alice.key.agentId)).toBe(
    'already',
  )
  expect(await bob.client.setContact(alice.name, 'accepted')).toEqual({ state: 'accepted' })
  expect(await collect(bob.client.contacts())).toEqual([{ agent_id: alice.key.agentId, state: 'accepted' }])

  const body = { text: 'ü 漢 \u0000', numbers: [1e21, -0.5, 2 ** 53 - 1], nothing: null }
  const sealed = await alice.client.send({ to: bob.name, body }, { seal: true })
  const threadId = first.msg_id
  const reply = await bob.client.send({ to: alice.name, body: 'reply', type: 'response', replyTo: threadId, threadId })
  expect(reply.lane).toBe('requests')

  const inbox = await collect(bob.client.inbox({ pageSize: 1 }))
  expect(inbox.map(({ envelope }) => envelope.id)).toEqual([first.msg_id, sealed.msg_id])
  const opened = await Promise.all(inbox.map((message) => bob.client.open(message, { sender: alice.name })))
  const sender = { agentId: alice.key.agentId, name: alice.name }
  expect(opened).toEqual([
    { body: 'first', sealed: false, verified: true, sender },
    { body, sealed: true, verified: true, sender },
  ])
  expect(await collect(alice.client.inbox({ lane: 'requests', threadId }))).toMatchObject([
    { envelope: { id: reply.msg_id, reply_to: threadId } },
  ])

  expect(await alice.client.receipt(first.msg_id)).toMatchObject({ status: 'accepted' })
  expect(await bob.client.ack(first.msg_id)).toEqual({ status: 'acked' })
  expect(await alice.client.receipt(first.msg_id)).toMatchObject({ status: 'processed' })
  expect(await alice.client.message(first.msg_id)).toMatchObject({ acked: true })
  expect(await collect(bob.client.inbox({ unacked: true }))).toHaveLength(1)
  await expect(alice.client.ack(first.msg_id)).rejects.toMatchObject({ status: 403, code: 'forbidden' })

  const exported = await collect(alice.client.export({ pageSize: 1 }))
  expect(exported.map(({ envelope }) => envelope.id)).toEqual([first.msg_id, sealed.msg_id, reply.msg_id])
  const events = await collect(bob.client.events({ pageSize: 1 }))
  expect(events.map(({ cursor, kind }) => [cursor, kind])).toEqual([
    [1, 'requests'],
    [2, 'inbox'],
    [3, 'inbox'],
  ])
  expect(await bob.client.events({ after: 3 }).page()).toMatchObject({ items: [], next: 3, earliest: 1, latest: 3 })
  expect(await bob.client.latestCursor()).toBe(3)
  expect(await alice.client.budget()).toMatchObject({ used_units: 2, used_introductions: 1 })

  expect(await bob.client.revoke(bob.key.agentId)).toEqual({ status: 'revoked' })
  await expect(bob.client.me()).rejects.toMatchObject({ code: 'signer_revoked' })
  await expect(alice.client.send({ to: bob.name, body: 1 })).rejects.toMatchObject({ code: 'recipient_unavailable' })
})

test('spec 3.17, 13.2: a message is retried after each 503 until it succeeds, and charged once', async () => {
  let refusals = 0
  // The service accepts the message each time, but the answer is lost on the way.
  const unlucky: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (refusals === 3 || init?.method !== 'POST' || !String(input).endsWith('/v2/messages')) return response
    refusals += 1
    return Response.json({ error: { code: 'unavailable', message: 'try again' } }, { status: 503 })
  }
  const alice = await agent({ fetch: unlucky })
  expect(await alice.client.send({ to: alice.name, body: 'patience' })).toMatchObject({
    duplicate: true,
    lane: 'inbox',
  })
  expect([refusals, await alice.client.budget()]).toMatchObject([3, { used_units: 1 }])
})

test('spec 13.3: a machine whose clock is an hour off registers, signs and sends', async () => {
  for (const offsetMs of [-3_600_000, 3_600_000]) {
    const runtime = { nowMs: () => Date.now() + offsetMs }
    // The authority is given, so the second client below has seen no `Date` of the service before its first signed request.
    const options = { url: system.urls[0] ?? '', key: generateKey(), authority: system.authority }
    const client = new AgentClient(options, runtime)
    const name = `clock-${Math.abs(offsetMs) + offsetMs}`
    await client.register(name)
    await client.send({ to: name, body: 'on time' })
    expect(await collect(new AgentClient(options, runtime).inbox())).toMatchObject([{ envelope: { body: 'on time' } }])
  }
})

test('boards, against the system', async () => {
  const [alice, bob, carol] = [await agent(), await agent(), await agent()]
  const board = await alice.client.createBoard({ title: 'öffentlich', visibility: 'unlisted', posting: 'anyone' })
  expect(board).toMatchObject({ owner: alice.key.agentId, description: '', posting: 'anyone' })
  expect(await bob.client.board(board.id)).toEqual(board)
  expect(await collect(bob.client.boards({ pageSize: 1 }))).not.toContainEqual(board)
  expect(await bob.client.subscribe(board.id)).toEqual({ role: 'reader' })
  expect(await collect(bob.client.boards({ pageSize: 1 }))).toContainEqual(board)
  await alice.client.setMember(board.id, carol.key.agentId, 'banned')
  const roles = Object.fromEntries((await alice.client.members(board.id)).map(({ agent_id, role }) => [agent_id, role]))
  expect(roles).toEqual({
    [alice.key.agentId]: 'owner',
    [bob.key.agentId]: 'reader',
    [carol.key.agentId]: 'banned',
  })
  const to = `board:${board.id}`
  await expect(carol.client.send({ to, body: 1 })).rejects.toMatchObject({ code: 'forbidden' })

  const post = await alice.client.send({ to, body: 'hello, all' })
  expect(post).toMatchObject({ lane: 'board', duplicate: false })
  const reply = await bob.client.send({ to, body: 'psst', threadId: post.msg_id }, { seal: alice.key.pubkey })
  const ids = async (client: AgentClient, threadId?: string): Promise<string[]> =>
    (await collect(client.feed(board.id, { pageSize: 1, threadId }))).map(({ envelope }) => envelope.id)
  const visitor = new AgentClient({ url: system.urls[0] ?? '' })
  expect(await ids(visitor)).toEqual([post.msg_id, reply.msg_id])
  expect(await ids(visitor, post.msg_id)).toEqual([post.msg_id, reply.msg_id])
  expect(await alice.client.open(await alice.client.message(reply.msg_id), { sender: bob.name, to })).toMatchObject({
    body: 'psst',
    sealed: true,
    verified: true,
  })
  expect(await collect(bob.client.events())).toMatchObject([
    { cursor: 1, kind: 'board', message: { envelope: { id: post.msg_id } } },
  ])
  expect(await collect(alice.client.export())).toMatchObject([{ lane: 'board', envelope: { id: post.msg_id } }])

  expect(await bob.client.vote(post.msg_id)).toEqual({ status: 'voted', quota_bonus: 0 })
  expect(await bob.client.vote(post.msg_id)).toEqual({ status: 'voted', quota_bonus: 0 })
  expect(await visitor.message(post.msg_id)).toMatchObject({ upvotes: 1 })
  expect(await bob.client.removeVote(post.msg_id)).toEqual({ status: 'removed', quota_bonus: 0 })
  await expect(alice.client.vote(post.msg_id)).rejects.toMatchObject({ code: 'own_post' })
  await expect(carol.client.vote(post.msg_id)).rejects.toMatchObject({ code: 'forbidden' })

  expect(await alice.client.hide(board.id, reply.msg_id)).toEqual({ hidden: true })
  expect(await ids(bob.client)).toEqual([post.msg_id])
  await expect(bob.client.message(reply.msg_id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(bob.client.restore(board.id, reply.msg_id)).rejects.toMatchObject({ code: 'forbidden' })
  expect(await alice.client.restore(board.id, reply.msg_id)).toEqual({ hidden: false })
  expect(await ids(bob.client)).toEqual([post.msg_id, reply.msg_id])
  expect(await bob.client.leave(board.id)).toEqual({ role: 'none' })
  // Alice pays for the board and a post to one subscriber. Bob pays for the subscription, a post to the owner, and a vote.
  expect(await alice.client.budget()).toMatchObject({ used_units: 11 })
  expect(await bob.client.budget()).toMatchObject({ used_units: 3 })
})

test.each(EXAMPLES.map((example, at) => [at, example] as const))(
  'example %i is quoted in the README with its output',
  async (at, example) => {
    const readme = readFileSync(README, 'utf8')
    const [, program, output] = [...readme.matchAll(/```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g)][at] ?? []
    expect(program).toBe(readFileSync(example, 'utf8'))
    const { stdout } = await run(process.execPath, [fileURLToPath(example)], {
      env: { ...ENVIRONMENT, SVC_URL: system.urls[0] },
    })
    expect(stdout).toBe(output)
  },
)
