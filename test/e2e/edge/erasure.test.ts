/** The erasure of an agent by an operator (spec 12.4). */
import { randomBytes } from 'node:crypto'
import { STORES } from '@svc/local/topology.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Run, svc } from '../../../clients/cli/test/run.ts'
import { got } from '../../support/client/answers.ts'
import { newBoard, putRole, subscribe } from '../../support/client/boards.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

let h: Harness
let receiver: WebhookReceiver
let admin: postgres.Sql

beforeAll(async () => {
  receiver = await startReceiver()
  h = await startHarness({
    replicas: ONE_OF_EACH,
    env: { SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host, NODE_EXTRA_CA_CERTS: receiver.caFile },
  })
  admin = postgres(h.system.database.adminUrl, { max: 2, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await h?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
})

const operate = (...args: string[]): Promise<Run> =>
  svc(['admin', ...args], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })
const WHY = ['--reason', 'a demand']
const SECRET = '0123456789abcdef0123456789abcdef'

test('spec 12.4: nothing of an erased agent is left, and nothing of others is lost', async () => {
  const [alice, bob, carol] = await h.agents(3)
  const words = `words-${randomBytes(8).toString('hex')}`
  await got(bob.put(`/v2/contacts/${alice.id}`, { state: 'accepted' }))
  await got(alice.put(`/v2/contacts/${bob.id}`, { state: 'accepted' }))
  receiver.answer('/bob', 500)
  await got(bob.put('/v2/webhook', { url: receiver.urlFor('/bob'), secret: SECRET }))
  await got(alice.put('/v2/webhook', { url: receiver.urlFor('/alice'), secret: SECRET }))
  const board = await newBoard(alice, { title: `${words} board` })
  const bobs = await newBoard(bob)
  await got(putRole(alice, board, bob, 'writer'))
  await got(putRole(bob, bobs, alice, 'writer'))
  await subscribe(carol, bobs) // so the price of a post on it changes if a subscriber is not counted
  await got(alice.send(bob, words))
  await got(bob.send(alice, 'to alice'))
  await got(alice.send(`board:${bobs}`, words))
  const own = await got(bob.send(`board:${bobs}`, 'a post of bob'))
  await got(bob.send(`board:${board}`, 'a post on the board of alice'))
  await got(alice.put(`/v2/messages/${own.body.msg_id}/vote`))
  await got(alice.patch('/v2/me', { discoverable: true }))
  expect(await operate('grant', alice.id, '5', words.replace('words', 'invoice'), ...WHY)).toMatchObject({
    exitCode: 0,
  })
  await eventually(() => expect(receiver.at('/bob').length).toBeGreaterThan(0))

  // A dry run changes nothing, and a demand can be withdrawn until it begins.
  expect(await operate('erase', alice.name, '--dry-run')).toMatchObject({ exitCode: 0 })
  expect((await alice.get('/v2/me')).status).toBe(200)
  expect(await operate('erase', alice.name)).toMatchObject({ exitCode: 2 })
  expect(await operate('erase', 'nobody-of-this-name', ...WHY)).toMatchObject({ exitCode: 1 })
  expect(await operate('erase', alice.name, '--in', '91d', ...WHY)).toMatchObject({ exitCode: 2 })
  // An earlier suspension outlasts an erasure that is cancelled.
  expect(await operate('suspend', alice.name, ...WHY)).toMatchObject({ exitCode: 0 })
  expect(await operate('erase', alice.name, ...WHY)).toMatchObject({ exitCode: 0 })
  expect((await alice.get('/v2/me')).body.error.code).toBe('forbidden')
  expect(await operate('resume', alice.name, ...WHY)).toMatchObject({ exitCode: 1 })
  expect(await operate('erase', alice.name, '--cancel', ...WHY)).toMatchObject({ exitCode: 0 })
  expect((await alice.get('/v2/me')).body.error.code).toBe('forbidden')
  expect(await operate('resume', alice.name, ...WHY)).toMatchObject({ exitCode: 0 })
  expect((await alice.get('/v2/me')).status).toBe(200)

  expect(await operate('erase', alice.id, '--in', '0s', '--reference', 'D-1', ...WHY)).toMatchObject({ exitCode: 0 })
  await eventually(async () => expect((await alice.get('/v2/me')).body.error.code).toBe('signer_revoked'))
  await h.system.kill('identity-1')
  await h.system.start('identity-1')
  const erasure = await eventually(
    async () => {
      const found = (await operate('erase', '--list', '--output', 'ndjson')).documents()[0]
      return typeof found?.finished_at === 'number' ? found : false
    },
    { timeoutMs: 120_000 },
  )
  expect(erasure).toMatchObject({ agent_id: null, step: 'done', report: { messaging: { contacts: 2, votes: 1 } } })

  expect(await tablesWith(alice.id, alice.name, alice.pubkey.replace('ed25519:', ''), words)).toEqual([])
  const books = await eventually(async () => {
    const run = await operate('verify', '--json')
    return run.exitCode === 0 && run
  })
  expect(books.stderr).toBe('')

  // clients/conformance/cases/operations/erasure.yaml has what others see of it.
  expect(await operate('restore', board, '--board', ...WHY)).toMatchObject({ exitCode: 1 })

  // The audit keeps what was done, with the keyed hash; and a repeat changes nothing.
  const audit = (await operate('audit', '--target', String(erasure.tombstone), '--output', 'ndjson')).documents()
  const rows = audit.map(({ service, action }) => `${service} ${action}`).toSorted()
  const everywhere = ['boards', 'budget', 'identity', 'messaging', 'webhook'].map((service) => `${service} erased`)
  const asked = ['cancel-erasure', 'erase', 'erase', 'suspend', 'resume'].map((action) => `identity ${action}`)
  expect(rows).toEqual([...everywhere, 'budget grant', ...asked].toSorted())
  const again = await operate('erase', alice.id, '--json', ...WHY)
  expect(again.documents()).toMatchObject([{ changed: false, tombstone: erasure.tombstone }])
})

/**
 * Every column that can hold text, and what an erasure does with it. A new column must be put in one of the lists, and the
 * erasure must do what the list says.
 */
const COLUMNS: Record<string, readonly string[]> = {
  'the row is deleted': [
    ...['boards.blocks.agent_id', 'boards.blocks.owner', 'boards.owners.agent_id', 'boards.memberships.board_id'],
    ...[
      'identity.agents.agent_id',
      'identity.agents.name',
      'identity.agents.public_key',
      'identity.agents.inbox_policy',
    ],
    ...['messaging.contacts.owner', 'messaging.contacts.other', 'messaging.contacts.state'],
    ...['messaging.entries.thread_id', 'messaging.entries.kind'],
    ...['messaging.pending.recipient', 'messaging.pending.sender'],
    ...['id', 'digest', 'sender', 'recipient', 'thread_id', 'envelope', 'lane'].map(
      (name) => `messaging.messages.${name}`,
    ),
    ...['webhook.jobs.agent_id', 'webhook.jobs.configuration', 'webhook.jobs.lease', 'webhook.jobs.traceparent'],
  ],
  'the tombstone replaces the id, or the text is emptied': [
    ...['boards.boards.owner', 'boards.boards.title', 'boards.boards.description', 'boards.memberships.agent_id'],
    ...['budget.accounts.agent_id', 'budget.past_days.agent_id', 'budget.grants.agent_id'],
    ...['budget.introductions.agent_id', 'budget.introductions.peer'],
    ...['budget.reservations.agent_id', 'budget.reservations.introduction_peer'],
    ...['messaging.entries.log', 'messaging.logs.id', 'messaging.logs.policy'],
    ...['identity.erasures.agent_id', 'messaging.votes.voter', 'webhook.jobs.body'],
    ...['agent_id', 'configuration', 'host', 'key_id', 'last_error', 'proven', 'sealed', 'url'].map(
      (name) => `webhook.endpoints.${name}`,
    ),
    ...['boards', 'budget', 'identity', 'messaging', 'webhook'].map((schema) => `${schema}.audit.target`),
  ],
  'a keyed hash, for ever': [
    'identity.erased.key',
    'identity.erasures.tombstone',
    'messaging.erased.key',
    'messaging.ids.key',
  ],
  'a hash, or the id of a message or of a change, that is removed within four days': [
    ...['identity.nonces.key', 'identity.consumed_challenges.id', 'budget.reservations.operation'],
    ...['boards', 'identity', 'messaging', 'webhook'].map((schema) => `${schema}.operations.id`),
    ...['messaging.message_fences.operation', 'webhook.jobs.message_id', 'webhook.retired.configuration'],
  ],
  'gone with the stream, or with the next page of a loop': [
    ...['stream.leases.agent_id', 'stream.leases.id', 'stream.leases.process'],
    ...['messaging.raises.through', 'webhook.reconciliation.place', 'webhook.reconciliation.lease'],
  ],
  'written by operators, who keep personal data out': [
    ...['boards', 'budget', 'identity', 'messaging', 'webhook'].flatMap((schema) =>
      ['operator', 'action', 'reference', 'reason', 'result'].map((name) => `${schema}.audit.${name}`),
    ),
    ...['budget.grants.reference', 'messaging.raises.reference'],
    ...['operator', 'reason', 'reference', 'report', 'earlier_suspension'].map((name) => `identity.erasures.${name}`),
  ],
  'not about agents': [
    ...['boards.boards.id', 'boards.boards.posting', 'boards.boards.visibility', 'boards.memberships.role'],
    ...['budget.reservations.owner', 'budget.reservations.state', 'identity.erasures.step', 'identity.erasures.place'],
    ...[
      'identity.erasure_key.secret',
      'messaging.id_secret.secret',
      'stream.processes.id',
      'webhook.endpoints.standing',
      'webhook.jobs.held',
    ],
    ...STORES.flatMap((schema) => [
      `${schema}.migrations.name`,
      `${schema}.functions.name`,
      `${schema}.functions.checksum`,
    ]),
  ],
}
const WITHOUT_FUNCTIONS = ['stream']

test('spec 12.4: the erasure knows every column of every schema that can hold data of an agent', async () => {
  const columns = await admin<{ name: string }[]>`
    select c.table_schema || '.' || c.table_name || '.' || c.column_name as name from information_schema.columns c
    where c.table_schema = any (${[...STORES]}) and c.table_name !~ '_[0-9]$'
      and c.data_type not in ('bigint', 'integer', 'smallint', 'boolean', 'date', 'timestamp with time zone',
        'timestamp without time zone', 'double precision', 'numeric')`
  const known = Object.values(COLUMNS)
    .flat()
    .filter((name) => !(name.includes('.functions.') && WITHOUT_FUNCTIONS.some((schema) => name.startsWith(schema))))
  expect(columns.map(({ name }) => name).toSorted()).toEqual(known.toSorted())
  expect(new Set(known).size).toBe(known.length)
})

/** The tables in which a text occurs. */
async function tablesWith(...texts: string[]): Promise<string[]> {
  const tables = await admin<{ name: string }[]>`
    select t.table_schema || '.' || t.table_name as name from information_schema.tables t
    where t.table_schema = any (${[...STORES]}) and t.table_type = 'BASE TABLE'`
  const found: string[] = []
  for (const { name } of tables) {
    for (const text of texts) {
      const [row] = await admin`select from ${admin(name)} t where t::text like ${`%${text}%`} limit 1`
      if (row !== undefined) found.push(`${name}: ${text}`)
    }
  }
  return found
}
