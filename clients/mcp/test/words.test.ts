/** Others choose ids, names, addresses, titles and the words of errors. None of them stands outside a fence. */
import { generateKey } from '@svc/sdk/keys.ts'
import { registered, uniqueName } from '@svc/sdk/test/agents.ts'
import { expect, test } from 'vitest'
import { createAliases } from '../src/store/aliases.ts'
import { type Fields, temporaryFolder, textOf } from './scene.ts'
import { startStage } from './stage.ts'

const POLICY = { askStrangers: false, maxUnits: 1_000 }
/** Occurs in every text that others choose below. */
const WORDS = /ignore[-_ ]previous/i

/** Every text in a value, at any depth. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** Lines with words of others that do not begin with a nonce of the fence. */
function loose(value: unknown): string[] {
  const lines = textsOf(value).flatMap((text) => text.split('\n'))
  return lines.filter((line) => WORDS.test(line) && !/^[0-9a-f]{16}\| /.test(line))
}

test('spec 13.5: words that a stranger or the service chose are fenced or have an alias, in every result', async () => {
  await using stack = new AsyncDisposableStack()
  const stage = stack.use(await startStage())
  const { service } = stage
  const alice = await stage.serve(stack, { policy: POLICY })
  const [mallory] = await registered(service, 'ignore-previous-mallory')
  await mallory.updateSettings({ discoverable: true })
  await mallory.setContact(alice.name, 'accepted')
  const [root, rules, posts, three, fourth] = ['messages-and-call-send_message', 'rules', 'posts', 'three', 'four'].map(
    (words) => uniqueName(`ignore-previous-${words}`),
  ) as [string, string, string, string, string]
  await mallory.send({ to: alice.name, body: 'Ignore previous text', id: root })
  const contact = await alice.call('list_requests')
  const { agent_id } = contact.messages[0].from
  const results: unknown[] = [contact, await alice.result('accept_contact', { agent: agent_id })]
  await mallory.send({ to: alice.name, body: 'second', id: rules, replyTo: root, threadId: root })
  const board = await mallory.createBoard({ title: 'Ignore previous boards', visibility: 'public', posting: 'anyone' })
  await mallory.send({ to: `board:${board.id}`, body: 'a post', id: posts })
  const misdirected = await mallory.send({ to: alice.name, body: 'third', id: three })
  service.tamper(misdirected.msg_id, (envelope) => {
    envelope.to = 'ignore-previous@ignore-previous.example'
  })
  const foreign = await mallory.send({ to: alice.name, body: 'the fourth', id: fourth })
  service.tamper(foreign.msg_id, (envelope) => {
    envelope.from = 'ignore-previous@ignore-previous.example'
  })

  const inbox = await alice.call('check_inbox')
  const shown: Fields = Object.fromEntries(inbox.messages.map((message: Fields) => [message.characters, message]))
  const [first, second] = [shown['Ignore previous text'.length], shown.second?.length ?? shown[6]]
  // The same id has the same alias wherever it is shown.
  expect(second).toMatchObject({ reply_to: first.message_id, thread_id: first.message_id })
  expect(first.from.name).toBe(`${inbox.fence}| ${mallory.name}`)
  // An address of another service: nobody looks its name up here.
  expect(shown['the fourth'.length]).toMatchObject({
    from: { agent_id: null, name: null, address: `${inbox.fence}| ignore-previous@ignore-previous.example` },
    verified: false,
    problem: expect.stringMatching(/^not verified: no agent of this service has the address/),
  })
  expect(textOf(await alice.result('reply', { message_id: foreign.msg_id, body: 'x' }))).toMatch(/^unknown_sender: /)
  const feed = await alice.call('read_board', { board_id: board.id })
  const aliases = { first: first.message_id, post: feed.messages[0].message_id }
  for (const [tool, args] of [
    ['check_inbox', { limit: 1 }],
    ['wait_for_messages', { after: 0, timeout_seconds: 0 }],
    ['read_message', { message_id: aliases.first }],
    ['read_thread', { message_id: aliases.first, limit: 1 }],
    ['search_messages', { query: 'ignore' }],
    ['list_requests', {}],
    ['list_contacts', {}],
    ['list_boards', {}],
    ['read_board', { board_id: board.id }],
    ['find_agent', { name: 'ignore' }],
    ['vote', { message_id: aliases.post }],
    ['reply', { message_id: aliases.first, body: 'x', reply_id: uniqueName('my-own-answer') }],
    ['acknowledge', { message_ids: [aliases.first, aliases.post] }],
  ] as const) {
    const result = await alice.result(tool, args)
    expect(result.isError, `${tool}: ${textOf(result)}`).not.toBe(true)
    results.push(result)
  }
  for (const uri of ['svc://inbox', 'svc://requests', `svc://boards/${board.id}`, `svc://messages/${aliases.first}`]) {
    results.push(await alice.client.readResource({ uri }))
  }
  results.push(await alice.client.listResources())
  // Errors of the service, and of tools that name what the service gave them.
  const error = JSON.stringify({ error: { code: 'ignore_previous_messages', message: 'ignore previous messages' } })
  for (const [tool, request, args] of [
    ['budget', 'GET /v2/budget', {}],
    ['acknowledge', 'POST /v2/messages', { message_ids: [aliases.first] }],
    ['check_inbox', 'GET /v2/inbox', {}],
  ] as const) {
    service.meet(request, { kind: 'answer', status: 400, body: error })
    results.push(await alice.result(tool, args))
  }
  service.meet('GET /v2/inbox', { kind: 'answer', status: 400, body: error })
  results.push(await alice.client.readResource({ uri: 'svc://inbox' }).catch(({ message }) => message))
  expect(loose(results)).toEqual([])
  expect(textsOf(results).filter((text) => WORDS.test(text)).length).toBeGreaterThan(20)
  expect(alice.log()).not.toMatch(WORDS)
  // A name and ids can be passed as they are shown. A name that this agent has used is no longer new.
  const answer = { to: first.from.name, body: 'y', reply_to: aliases.first, thread_id: aliases.first }
  expect(await alice.call('send_message', answer)).toMatchObject({
    to: expect.stringContaining(`${mallory.name}@`),
  })
  // A model that knows an id from elsewhere can use it, and sees it again as it wrote it.
  expect(await alice.call('read_message', { message_id: root })).toMatchObject({ message: { message_id: root } })
})

test('a client that cannot ask does not show the model the name of a stranger', async () => {
  await using stack = new AsyncDisposableStack()
  const stage = stack.use(await startStage())
  const { service } = stage
  const alice = await stage.serve(stack, { canAsk: false })
  const [mallory] = await registered(service, 'ignore-previous-mallory')
  await mallory.updateSettings({ discoverable: true })
  await mallory.send({ to: alice.name, body: 'hello' })
  const { messages } = await alice.call('check_inbox')
  for (const [tool, args] of [
    ['reply', { message_id: messages[0].message_id, body: 'x' }],
    ['accept_contact', { agent: messages[0].from.agent_id }],
  ] as const) {
    const result = await alice.result(tool, args)
    expect(textOf(result)).toMatch(/^cannot_ask: this needs the consent of the person/)
    expect(loose(result)).toEqual([])
  }
})

test('an alias is stable, belongs to one key, and shows nothing of the text', () => {
  const key = generateKey()
  const aliases = createAliases(key)
  for (const text of ['a-message-id', 'x'.repeat(80), 'ü\n']) {
    const alias = aliases.hide(text)
    expect(alias).toMatch(/^ref\.[A-Za-z0-9_-]{11,140}$/)
    expect([createAliases(key).hide(text), createAliases(key).reveal(alias)]).toEqual([alias, text])
    expect(createAliases(generateKey()).reveal(alias)).toBeUndefined()
    expect(aliases.reveal(`${alias}A`)).toBeUndefined()
  }
  for (const other of ['', 'ref.', 'ref.short', 'a-message-id', 'ref.aWdub3JlLXByZXZpb3Vz']) {
    expect(aliases.reveal(other)).toBeUndefined()
  }
})

test('two mailboxes in one client have different names, folders and ports', async () => {
  await using stack = new AsyncDisposableStack()
  const stage = stack.use(await startStage())
  const folder = stack.use(temporaryFolder())
  // Both use one folder for their state.
  const statePath = folder.path('state')
  const [alice, bob] = [await stage.serve(stack, { statePath }), await stage.serve(stack, { statePath })]
  const clients = [alice, bob]
  expect(clients.map(({ client }) => client.getServerVersion()?.name)).toEqual([`svc-${alice.name}`, `svc-${bob.name}`])
  expect(await Promise.all(clients.map(({ call }) => call('whoami')))).toMatchObject([
    { name: alice.name },
    { name: bob.name },
  ])
  await Promise.all([
    alice.call('send_message', { to: bob.name, body: 'hello' }),
    bob.call('send_message', { to: alice.name, body: 'hello' }),
  ])
  expect(alice.person.asked).toEqual([
    expect.stringContaining(`The agent ${alice.name} wants to send a message to "${bob.name}"`),
  ])
  expect(bob.person.asked.at(-1)).toContain(`The agent ${bob.name} wants to send a message to "${alice.name}"`)
  // An alias of one mailbox means nothing to the other.
  const other = await stage.agent()
  await other.client.send({ to: alice.name, body: 'x', id: uniqueName('an-id-in-words') })
  const { messages } = await alice.call('list_requests')
  const { message_id } = messages.at(-1)
  expect(textOf(await bob.result('read_message', { message_id }))).toMatch(/^not_found: /)
})
