import { fromJsonSchema } from '@modelcontextprotocol/client'
import type { AnySchemaObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fields, overStdio, type TestClient, temporaryFolder, textOf, WAYS, type Way } from './scene.ts'
import { type Stage, startStage } from './stage.ts'

let stage: Stage
let made = 0
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** A new agent, and a client that connects to its server with this transport and version. */
async function agent(way: Way, stack: AsyncDisposableStack): Promise<TestClient & { name: string }> {
  if (way.startsWith('http')) return stage.serve(stack, { way })
  const folder = stack.use(temporaryFolder())
  made += 1
  const name = `stdio-agent-${made}`
  const args = ['--key', folder.path('key'), '--url', stage.url, '--register', name]
  return Object.assign(stack.use(await overStdio(way, args)), { name })
}

describe.each(WAYS)('over %s', (way) => {
  test('two agents have a sealed conversation, and use every tool', { timeout: 180_000 }, async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await agent(way, stack)
    const bob = await agent(way, stack)
    expect(alice.client.getInstructions()).toContain('check_inbox')
    expect(await alice.call('whoami')).toMatchObject({ name: alice.name, unread: { inbox: 0, requests: 0 } })
    const waiting = alice.call('send_and_wait', { to: bob.name, body: 'what is 6 × 7?', message_id: `q-${alice.name}` })
    const arrived = await bob.call('wait_for_messages', { timeout_seconds: 50 })
    expect(arrived.messages).toMatchObject([{ lane: 'requests', sealed: true, type: 'request' }])
    expect(arrived.messages[0].text).toContain(`${arrived.fence}| what is 6 × 7?`)
    expect(await bob.call('find_agent', { name: alice.name })).toMatchObject({ found: true, contact: 'none' })
    expect(await bob.call('list_requests')).toMatchObject({
      messages: [{ verified: true, from: { name: alice.name } }],
    })
    expect(await bob.call('accept_contact', { agent: alice.name })).toMatchObject({ contact: 'accepted' })
    const receipt = await bob.call('reply', { message_id: `q-${alice.name}`, body: '{"answer":42}', json: true })
    expect(receipt).toMatchObject({ status: 'accepted', sealed: true, cost_units: 1, duplicate: false })
    const answered = await waiting
    expect(answered).toMatchObject({
      answered: true,
      answer: { verified: true, type: 'response' },
      unread: { inbox: 1, requests: 0 },
    })
    expect(answered.answer.text).toContain('"answer": 42')
    // The sender can read its own sealed message too.
    const thread = await alice.call('read_thread', { message_id: `q-${alice.name}` })
    expect(thread.messages.map(({ text }: { text: string }) => text.includes('×') || text.includes('42'))).toEqual([
      true,
      true,
    ])
    expect(await bob.call('acknowledge', { message_ids: [`q-${alice.name}`, 'unknown-id'] })).toMatchObject({
      acknowledged: [`q-${alice.name}`],
      failed: [{ message_id: 'unknown-id', error: 'not_found' }],
    })
    expect(await bob.call('check_inbox')).toMatchObject({ messages: [], unread: { inbox: 0, requests: 0 } })
    // The result names the message by an alias, because its sender chose its id.
    const [found] = (await bob.call('search_messages', { query: '6 7?' })).messages
    expect((await bob.call('read_message', { message_id: found.message_id })).message.text).toContain('6 × 7?')
    expect(await bob.call('budget')).toMatchObject({ used_units_today: 2, introductions_left: 999 })

    const { board } = await alice.call('create_board', { title: 'News', visibility: 'public' })
    expect(await alice.call('create_board', { title: 'News', visibility: 'public' })).toMatchObject({
      created: false,
      board: { board_id: board.board_id },
    })
    expect(await bob.call('subscribe', { board_id: board.board_id })).toMatchObject({ role: 'reader' })
    const post = await alice.call('post', { board_id: board.board_id, body: 'out now' })
    expect((await bob.call('wait_for_messages', { timeout_seconds: 50 })).messages).toMatchObject([{ lane: 'board' }])
    expect(await bob.call('vote', { message_id: post.message_id })).toMatchObject({ votes: 1 })
    expect(await bob.call('read_board', { board_id: board.board_id })).toMatchObject({
      messages: [{ votes: 1, verified: true }],
    })
    expect((await bob.call('list_boards')).boards.length).toBeGreaterThan(0)
    expect(await bob.call('block_contact', { agent: alice.name })).toMatchObject({ contact: 'blocked' })
    const refused = await alice.result('send_message', { to: bob.name, body: 'still there?' })
    expect(textOf(refused)).toMatch(/^admission_denied: /)
    const contacts = [{ name: bob.name, contact: 'accepted', by_accept_replies: true }]
    expect(await alice.call('list_contacts')).toMatchObject({ contacts })
    expect(await alice.call('remove_contact', { agent: bob.name })).toMatchObject({ contact: 'none' })
    expect(bob.person.asked).toHaveLength(1)
    expect(alice.person.asked).toHaveLength(2)
  })

  test('the arguments of a call may be null, or an object as JSON text', async () => {
    await using stack = new AsyncDisposableStack()
    const { client } = await agent(way, stack)
    for (const [name, given] of [
      ['whoami', null],
      ['check_inbox', '{"limit": 1}'],
    ] as const) {
      const request = { method: 'tools/call', params: { name, arguments: given } }
      const result = await client.request(request, fromJsonSchema<Fields>({ type: 'object' }))
      expect(result.isError, JSON.stringify(result)).not.toBe(true)
    }
  })
})

test('every tool has annotations, and schemas that are valid JSON Schema', async () => {
  await using stack = new AsyncDisposableStack()
  const { client } = await stage.serve(stack)
  const { tools } = await client.listTools()
  expect(tools).toHaveLength(23)
  const ajv = new Ajv2020({ strict: true, validateFormats: false })
  for (const { name, inputSchema, annotations } of tools) {
    const isReading = annotations?.readOnlyHint
    expect(isReading, name).toEqual(expect.any(Boolean))
    expect(annotations?.destructiveHint, name).toBe(isReading ? undefined : name === 'block_contact')
    // Not every client supports unions and patterns, so every input has a single type.
    for (const member of Object.values(inputSchema.properties ?? {}) as Fields[]) {
      expect(member.type, name).toEqual(expect.any(String))
      expect(member, name).not.toHaveProperty('pattern')
    }
    const schema = inputSchema as AnySchemaObject
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(ajv.validateSchema(schema), name).toBe(true)
    ajv.compile(schema)
  }
})

test('the prompts name only tools that exist', async () => {
  await using stack = new AsyncDisposableStack()
  const { client } = await stage.serve(stack)
  const { prompts } = await client.listPrompts()
  expect(prompts.map(({ name }) => name)).toEqual(['introduce', 'triage'])
  const introduce = await client.getPrompt({ name: 'introduce', arguments: { agent: 'bob', purpose: 'to trade' } })
  const triage = await client.getPrompt({ name: 'triage' })
  const { tools } = await client.listTools()
  const names = tools.map(({ name }) => name)
  const named = JSON.stringify([introduce, triage]).match(/\b[a-z]+_[a-z_]+\b/g) ?? []
  expect(named.length).toBeGreaterThan(2)
  expect(named.filter((one) => !names.includes(one))).toEqual([])
})
