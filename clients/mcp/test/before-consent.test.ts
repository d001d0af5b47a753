/** The person is asked only for calls that the service would accept, as far as that is known before. */
import { LIMITS } from '@svc/contracts/limits.ts'
import { clientOf, registered } from '@svc/sdk/test/agents.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readKeyFile } from '../src/store/key-file.ts'
import { type Fields, textOf } from './scene.ts'
import { type Stage, startStage } from './stage.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

let alice: Awaited<ReturnType<Stage['serve']>>
const names = { bob: '', gone: '' }
const ids: Record<'open' | 'own' | 'post', string> = { open: '', own: '', post: '' }
/** Sets the next answer about the budget. */
let setBoards: () => void
let setBudget: (change: object) => void

beforeAll(async () => {
  const stage = stack.use(await startStage())
  const { service } = stage
  const [bob, gone] = await registered(service, 'bob', 'gone')
  await gone.revoke(gone.key.agentId)
  Object.assign(names, { bob: bob.name, gone: gone.name })
  ids.open = (await bob.createBoard({ title: 'open', visibility: 'public', posting: 'anyone' })).id
  alice = await stage.serve(stack, { policy: { maxUnits: 0 } })
  const client = clientOf(service, { key: readKeyFile(alice.keyPath) })
  const own = await client.createBoard({ title: 'own', visibility: 'private' })
  ids.own = own.id
  ids.post = (await client.send({ to: `board:${ids.own}`, body: 'mine' })).msg_id
  const boards = Array.from({ length: LIMITS.boardsPerOwner }, () => own)
  setBoards = () =>
    service.meet('GET /v2/boards?', { kind: 'answer', status: 200, body: JSON.stringify({ boards, next_cursor: '' }) })
  const budget = await client.budget()
  setBudget = (change) =>
    service.meet('GET /v2/budget', { kind: 'answer', status: 200, body: JSON.stringify({ ...budget, ...change }) })
})

const EMPTY = { used_units: 100, daily_free_units: 100, daily_hard_limit: 1_000, credit_balance: 0 }

test.each<[string, string, () => Fields, object?]>([
  [
    'message_too_large',
    'send_message',
    () => ({ to: names.bob, body: 'x'.repeat(LIMITS.dmCharacters + 1), sealed: false }),
  ],
  ['message_too_large', 'send_message', () => ({ to: names.bob, body: 'ä'.repeat(LIMITS.dmBytes / 2) })],
  [
    'message_too_large',
    'send_and_wait',
    () => ({ to: names.bob, body: 'x'.repeat(LIMITS.dmBytes), timeout_seconds: 0 }),
  ],
  ['message_too_large', 'post', () => ({ board_id: ids.open, body: 'x'.repeat(LIMITS.postCharacters + 1) })],
  ['invalid_json', 'send_message', () => ({ to: names.bob, body: '{', json: true })],
  ...['send_message', 'send_and_wait'].flatMap((tool) =>
    [true, false].flatMap((sealed): [string, string, () => Fields][] => [
      ['recipient_unavailable', tool, () => ({ to: 'nobody', body: 'x', sealed })],
      ['recipient_not_local', tool, () => ({ to: 'bob@elsewhere.example', body: 'x', sealed })],
      ...['Bob', '', 'board:x'].map((to): [string, string, () => Fields] => [
        'invalid_envelope',
        tool,
        () => ({ to, body: 'x', sealed }),
      ]),
    ]),
  ),
  ['unknown_agent', 'accept_contact', () => ({ agent: 'nobody' })],
  ['recipient_unavailable', 'send_message', () => ({ to: names.gone, body: 'x' })],
  ['invalid_reference', 'send_message', () => ({ to: names.bob, body: 'x', reply_to: 'no-such-message' })],
  ['invalid_reference', 'post', () => ({ board_id: ids.open, body: 'x', thread_id: 'no-such-message' })],
  ['not_found', 'post', () => ({ board_id: 'a'.repeat(26), body: 'x' })],
  ['not_found', 'subscribe', () => ({ board_id: 'a'.repeat(26) })],
  ['owner_role', 'subscribe', () => ({ board_id: ids.own })],
  ['own_agent', 'accept_contact', () => ({ agent: alice.name })],
  ['own_post', 'vote', () => ({ message_id: ids.post })],
  ['not_found', 'vote', () => ({ message_id: 'no-such-message' })],
  ['board_limit', 'create_board', () => ({ title: 'one more', visibility: 'public' })],
  ['budget_exhausted', 'send_message', () => ({ to: names.bob, body: 'x' }), EMPTY],
  ['budget_exhausted', 'accept_contact', () => ({ agent: names.bob }), EMPTY],
  [
    'hard_limit_reached',
    'post',
    () => ({ board_id: ids.open, body: 'x' }),
    { ...EMPTY, used_units: 1_000, credit_balance: 5 },
  ],
])('%s is known before the person is asked: %s', async (code, tool, args, budget) => {
  if (budget !== undefined) setBudget(budget)
  if (code === 'board_limit') setBoards()
  const asked = alice.person.asked.length
  expect(textOf(await alice.result(tool, args()))).toMatch(new RegExp(`^${code}: `))
  expect(alice.person.asked.slice(asked)).toEqual([])
})

test('the question names the agent that asks, and what it wants to send', async () => {
  alice.person.answer = 'decline'
  await alice.result('send_message', { to: names.bob, body: 'hello' })
  expect(alice.person.asked.at(-1)).toMatch(
    new RegExp(`^The agent ${alice.name} wants to send a message to "${names.bob}": .* Content: "hello"$`),
  )
})
