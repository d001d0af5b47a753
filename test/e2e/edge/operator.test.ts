/** The operator's commands on a running system. */
import { PassThrough } from 'node:stream'
import { AUDITED } from '@svc/contracts/admin.ts'
import { DEFAULTS } from '@svc/contracts/limits.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addAdmin } from '../../../clients/cli/src/commands/admin/admin.ts'
import { runSvc } from '../../../clients/cli/src/program.ts'
import { type Run, svc } from '../../../clients/cli/test/run.ts'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { got } from '../../support/client/answers.ts'
import { newBoard, subscribe } from '../../support/client/boards.ts'
import { openEventStream } from '../../support/client/event-stream.ts'
import { expireMessages } from '../../support/engines/expire-messages.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import { untilResolved } from '../../support/system/books.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'

const ATTEMPTS = 5
const WHY = ['--reason', 'a test']
const SECRET = '0123456789abcdef0123456789abcdef'

let h: Harness
let receiver: WebhookReceiver
/** A superuser connection, for reading and breaking the books. */
let admin: postgres.Sql

beforeAll(async () => {
  receiver = await startReceiver()
  h = await startHarness({
    replicas: { messaging: 2, budget: 1, boards: 1, identity: 1, webhook: 1, stream: 1, gateway: 2 },
    env: {
      SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host,
      SVC_WEBHOOK_BACKOFF_SECONDS: '0,0.05,0.05,0.05,0.05',
      NODE_EXTRA_CA_CERTS: receiver.caFile,
    },
  })
  admin = postgres(h.system.database.adminUrl, { max: 2, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await h?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
})

/** Runs `svc admin …` as the operator. */
function operate(...args: string[]): Promise<Run> {
  return svc(['admin', ...args], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })
}

async function documentOf(...args: string[]): Promise<Record<string, unknown>> {
  const { exitCode, stderr, documents } = await operate(...args, '--json')
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  return documents()[0] ?? {}
}

async function friends(): Promise<[Agent, Agent]> {
  const [anna, ben] = await h.agents(2)
  await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
  return [anna, ben]
}

function setWebhook(agent: Agent, path: string): Promise<HttpAnswer> {
  return got(agent.put('/v2/webhook', { url: receiver.urlFor(path), secret: SECRET }))
}

/** The agent's rows of a table, to prove that a dry run changes none of them. */
async function contentsOf(table: string, { id }: Agent): Promise<string> {
  const rows = await admin<{ row: string }[]>`
    select t::text as row from ${admin(table)} t where agent_id = ${id} order by 1`
  return rows.map(({ row }) => row).join('\n')
}

describe('svc admin status', () => {
  test('services with their processes, versions, rates and lags', async () => {
    const [ben] = await h.agents(1)
    // a report leaves out processes that answer too slowly, so retry
    await eventually(async () => {
      let looking = true
      const run = operate('status', '--json').finally(() => {
        looking = false
      })
      while (looking) await ben.get('/v2/inbox')
      expectWhole(await run)
    })
  })

  function expectWhole({ exitCode, documents }: Run): void {
    const [status] = documents<{ processes: Record<string, unknown>[]; missing: string[] }>()
    expect(exitCode).toBe(0)
    expect(status?.missing).toEqual([])
    const processes = status?.processes ?? []
    expect(processes.map(({ service }) => service)).toEqual([
      'gateway',
      'gateway',
      'identity',
      'messaging',
      'messaging',
      'boards',
      'budget',
      'stream',
      'webhook',
    ])
    for (const each of processes) expect(each).toMatchObject({ version: '2.0.0', failed_per_second: 0 })
    const rateOf = (name: string) =>
      processes.filter(({ service }) => service === name).reduce((sum, one) => sum + Number(one.calls_per_second), 0)
    expect(rateOf('gateway')).toBeGreaterThan(0)
    expect(status).toMatchObject({
      accepted_stream: { messages: expect.any(Number) },
      webhooks: { oldest_due_seconds: 0 },
      streams: { open: 0 },
    })
  }

  test('as text it is a table, on request with a line for each process; a service without a process is an error', async () => {
    await eventually(async () => {
      const { exitCode, stdout } = await operate('status', '--processes')
      expect(exitCode).toBe(0)
      const lines = stdout.split('\n')
      expect(lines[0]).toMatch(/^service +processes +version +up for +calls\/s +failed\/s +ms each +working$/)
      expect(lines.filter((line) => /^messaging +2 +2\.0\.0 /.test(line))).toHaveLength(1)
      expect(lines.filter((line) => /^ {2}[A-Z0-9]{8} /.test(line))).toHaveLength(9)
    })
    await h.system.kill('stream-1')
    const away = await operate('status')
    expect(away.exitCode).toBe(1)
    expect(away.stdout).toMatch(/^stream +0 +NOT RUNNING$/m)
    await h.system.start('stream-1')
  })

  test('a login that NATS refuses is an error, and is not retried', async () => {
    const url = new URL(h.system.nats.urlFor('admin'))
    url.password = 'nwrong'
    const { exitCode, stderr } = await svc(['admin', 'status'], { env: { SVC_NATS_URL: url.href } })
    expect([exitCode, stderr]).toEqual([3, `svc: NATS at ${url.host} refuses this login\n`])
  })

  test('--watch repeats until it is interrupted', async () => {
    const interrupt = new AbortController()
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    let printed = ''
    stdout.on('data', (chunk: Buffer) => {
      printed += chunk
      if (printed.split('\n').length > 2) interrupt.abort()
    })
    const env = { SVC_NATS_URL: h.system.nats.urlFor('admin') }
    const io = { env, stdin, stdout, stderr, signal: interrupt.signal }
    expect(await runSvc(['admin', 'status', '--watch', '1', '--json'], io, [addAdmin])).toBe(130)
    const documents = printed.split('\n').filter((line) => line !== '')
    expect(documents.length).toBeGreaterThan(1)
    for (const document of documents) expect(JSON.parse(document)).toHaveProperty('processes')
  })
})

describe('svc admin grant', () => {
  test('spec 11.4: a dry run reports the change and does nothing; a repeated grant changes nothing', async () => {
    const [anna] = await h.agents(1)
    const grant = (...rest: string[]) => documentOf('grant', anna.id, '7', 'dry', ...rest)
    const why = ['--reason', 'paid by card']
    const before = [await contentsOf('budget.accounts', anna), await contentsOf('budget.grants', anna)]
    expect(await grant('--dry-run')).toEqual({ granted: true, credit_balance: 7, dry_run: true })
    expect([await contentsOf('budget.accounts', anna), await contentsOf('budget.grants', anna)]).toEqual(before)
    expect(await operate('grant', anna.id, '7', 'dry')).toMatchObject({ exitCode: 2 })
    expect(await grant(...why)).toEqual({ granted: true, credit_balance: 7 })
    expect(await grant(...why)).toEqual({ granted: false, credit_balance: 7 })
    expect(await grant('--dry-run')).toEqual({ granted: false, credit_balance: 7, dry_run: true })
    expect(await operate('grant', anna.id, '8', 'dry', '--dry-run')).toMatchObject({ exitCode: 1 })

    // One change, one row of the audit; and no login of a service can change it.
    const rows = async () => (await operate('audit', '--target', anna.id, '--output', 'ndjson')).documents()
    const row = { service: 'budget', operator: 'admin', action: 'grant', target: anna.id, reference: 'dry' }
    expect(await rows()).toMatchObject([{ ...row, reason: 'paid by card', result: { units: 7, credit_balance: 7 } }])
    expect((await operate('audit', '--target', anna.id)).stdout).toMatch(/ admin +budget +\d+ +grant .* paid by card$/m)
    for (const service of AUDITED) {
      const own = postgres(h.system.database.urlFor(service), { max: 1, onnotice: () => {} })
      for (const change of ['update % set reason = reason', 'delete from %', 'truncate %'])
        await expect(own.unsafe(change.replace('%', `${service}.audit`))).rejects.toThrow('permission denied')
      await own.end()
    }
  })
})

describe('spec 12.4: svc admin suspend and resume', () => {
  const MINUTE_SECONDS = 60

  // clients/conformance/cases/operations/suspension.yaml has what the agent and others see of it.
  test('a delivery waits while the agent is suspended, a repeat changes nothing, and the audit has both', async () => {
    const [anna, ben] = await friends()
    await setWebhook(ben, '/suspended')
    const suspend = () => operate('suspend', ben.name, '--reason', 'spam', '--until', '2100-01-01T00:00:00Z')
    expect(await suspend()).toMatchObject({
      exitCode: 0,
      stdout: `suspended ${ben.name} ${ben.id} until 2100-01-01T00:00:00Z\n`,
    })
    expect((await suspend()).stdout).toMatch(/was suspended until .* before, nothing changed\n$/)
    const { body: sent } = await got(anna.send(ben))
    const jobs = () => documentOf('jobs', '--agent', ben.id)
    await eventually(async () => expect(await jobs()).toMatchObject({ pending: 1, due: 0, failed: 0 }))
    expect(receiver.at('/suspended')).toHaveLength(0)
    expect(await documentOf('resume', ben.id, '--reason', 'explained')).toMatchObject({ changed: true })
    await eventually(() => receiver.at('/suspended').length === 1)
    expect(receiver.at('/suspended')[0]?.headers['x-svc-message-id']).toBe(sent.msg_id)
    const rows = (await operate('audit', '--target', ben.id, '--output', 'ndjson')).documents<{ action: string }>()
    expect(rows.map(({ action }) => action)).toEqual(['suspend', 'resume'])
    await untilResolved(admin)
  })

  test('identity is killed after the commit: the suspension holds, streams close, and the audit has one row', async () => {
    const [ben] = await h.agents(1)
    using stream = await openEventStream(ben)
    await stream.until('cursor')
    await h.system.kill('identity-1')
    const dying = await h.system.start('identity-1', { SVC_FAILPOINTS: 'identity.suspension.committed=kill' })
    const killed = await operate('suspend', ben.id, ...WHY)
    expect(killed).toMatchObject({ exitCode: 3 })
    await dying.ended
    await h.system.start('identity-1')
    expect(await stream.over).toBe('ended')
    expect((await ben.get('/v2/me')).status).toBe(403)
    expect(await documentOf('suspend', ben.id, ...WHY)).toMatchObject({ changed: false, until: null })
    expect((await operate('audit', '--target', ben.id, '--output', 'ndjson')).documents()).toHaveLength(1)
    await documentOf('resume', ben.id, ...WHY)
  })

  test('durations, a dry run, and wrong arguments', async () => {
    const [ben] = await h.agents(1)
    const nowSeconds = Math.floor(Date.now() / 1_000)
    const dry = await documentOf('suspend', ben.id, '--until', '10m', '--dry-run')
    expect(dry).toMatchObject({ changed: true, dry_run: true, waiting_for: [] })
    expect(Number(dry.until)).toBeGreaterThanOrEqual(nowSeconds + 10 * MINUTE_SECONDS)
    expect((await ben.get('/v2/me')).status).toBe(200)
    expect(await documentOf('resume', ben.id, ...WHY)).toMatchObject({ changed: false })
    for (const wrong of ['yesterday', '10', '0h', '2020-01-01T00:00:00Z'])
      expect(await operate('suspend', ben.id, ...WHY, '--until', wrong)).toMatchObject({ exitCode: 2 })
    for (const command of ['suspend', 'resume']) {
      expect(await operate(command, ben.id)).toMatchObject({ exitCode: 2 })
      expect(await operate(command, 'no such', ...WHY)).toMatchObject({ exitCode: 2 })
      const unknown = await operate(command, 'nobody-at-all', ...WHY)
      expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('nobody-at-all')])
    }
  })
})

describe('spec 12.4: svc admin takedown and restore', () => {
  // clients/conformance/cases/operations/takedown.yaml has what clients see of it.
  const statusOf = async (agent: Agent, path: string) => (await agent.get(path)).status

  test('a dry run and a repeat change nothing, the delivery is held, the audit has each, and the books add up', async () => {
    const [anna, ben] = await friends()
    receiver.answer('/down', 500)
    await setWebhook(ben, '/down')
    const dm = (await got(anna.send(ben))).body.msg_id
    const board = await newBoard(anna)
    const post = (await got(anna.send(`board:${board}`))).body.msg_id
    await eventually(() => receiver.at('/down').length === ATTEMPTS)
    const jobs = () => documentOf('jobs', '--agent', ben.id)
    await eventually(async () => expect(await jobs()).toMatchObject({ retryable: 1 }))
    const takedown = (...rest: string[]) => documentOf('takedown', dm, ...WHY, '--reference', 'INC-17', ...rest)
    const answer = { id: dm, kind: 'message', changed: true }
    expect(await takedown('--dry-run')).toEqual({ ...answer, dry_run: true })
    expect(await statusOf(ben, `/v2/messages/${dm}`)).toBe(200)
    expect(await takedown()).toEqual({ ...answer, dry_run: false })
    expect(await takedown()).toEqual({ ...answer, changed: false, dry_run: false })
    expect(await statusOf(ben, `/v2/messages/${dm}`)).toBe(404)
    expect((await operate('takedown', post, ...WHY)).stdout).toBe(`took down the post ${post}\n`)
    expect(await jobs()).toMatchObject({ retryable: 0 })
    expect(await documentOf('jobs', 'retry', '--message', dm, ...WHY)).toMatchObject({ jobs: 0 })
    await untilResolved(admin)
    expect(await operate('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    await documentOf('restore', dm, ...WHY)
    expect((await operate('restore', dm, ...WHY)).stdout).toBe(`the message ${dm} is not taken down, nothing changed\n`)
    receiver.answer('/down', 204)
    expect(await documentOf('jobs', 'retry', '--message', dm, ...WHY)).toMatchObject({ jobs: 1 })
    await eventually(() => receiver.at('/down').length === ATTEMPTS + 1)
    const rows = (await operate('audit', '--target', dm, '--output', 'ndjson')).documents<Record<string, string>>()
    expect(rows.map(({ service, action }) => `${service} ${action}`).toSorted()).toEqual([
      ...['messaging restore', 'messaging takedown'],
      ...['webhook restore', 'webhook retry', 'webhook takedown'],
    ])
  })

  test('a command that ends between the message and its delivery is completed by a repeat', async () => {
    const [anna, ben] = await friends()
    receiver.answer('/cut', 500)
    await setWebhook(ben, '/cut')
    const { body } = await got(anna.send(ben))
    const jobs = () => documentOf('jobs', '--agent', ben.id)
    await eventually(async () => expect(await jobs()).toMatchObject({ pending: 0, retryable: 1 }))
    await h.system.kill('webhook-1')
    const cut = await operate('takedown', body.msg_id, ...WHY)
    expect(cut).toMatchObject({ exitCode: 3, stdout: '' })
    expect(cut.stderr).toContain('the message is taken down, but its delivery is not held yet')
    expect((await ben.get(`/v2/messages/${body.msg_id}`)).status).toBe(404)
    await h.system.start('webhook-1')
    expect(await jobs()).toMatchObject({ retryable: 1 })
    const again = () => documentOf('takedown', body.msg_id, ...WHY)
    expect([await again(), await again()]).toMatchObject([{ changed: true }, { changed: false }])
    expect(await jobs()).toMatchObject({ retryable: 0 })
  })

  test('a message may have the id of a board, and is looked up first; the books add up without the board', async () => {
    const [anna, ben] = await h.agents(2)
    const board = await newBoard(anna)
    await got(ben.post('/v2/messages', ben.envelope(ben, 'a note', { id: board })))
    expect(await documentOf('takedown', board, ...WHY)).toMatchObject({ kind: 'message' })
    expect(await statusOf(ben, `/v2/boards/${board}`)).toBe(200)
    expect(await documentOf('takedown', board, '--board', ...WHY)).toMatchObject({ kind: 'board', changed: true })
    await eventually(async () => expect(await statusOf(anna, `/v2/boards/${board}`)).toBe(404))
    await untilResolved(admin)
    expect(await operate('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    expect(await documentOf('restore', board, '--board', ...WHY)).toMatchObject({ kind: 'board', changed: true })
    expect(await documentOf('restore', board, '--board', ...WHY)).toMatchObject({ changed: false })
  })

  test('wrong arguments are refused and change nothing', async () => {
    const [anna] = await h.agents(1)
    const post = (await got(anna.send(anna))).body.msg_id
    const refusals = [
      [['takedown', 'no-such-message', ...WHY], 'no live message and no board has the id no-such-message'],
      [['takedown', post, '--board', ...WHY], `no board has the id ${post}`],
      [['restore', '0'.repeat(20), '--message', ...WHY], `no live message has the id ${'0'.repeat(20)}`],
      [['takedown', post], '--reason is missing'],
      [['takedown', post, '--message', '--board', ...WHY], 'use --message or --board, not both'],
    ] as const
    for (const [args, text] of refusals) {
      const { exitCode, stdout, stderr } = await operate(...args)
      expect({ stdout, isRefused: exitCode !== 0 }).toEqual({ stdout: '', isRefused: true })
      expect(stderr).toContain(text)
    }
    expect(await statusOf(anna, `/v2/messages/${post}`)).toBe(200)
  })
})

describe('svc admin jobs', () => {
  test('shows failed jobs and retries each once: a dry run changes nothing, a repeat nothing more', async () => {
    const [anna, ben] = await friends()
    receiver.answer('/broken', 500)
    await setWebhook(ben, '/broken')
    const { body } = await got(anna.send(ben))
    await eventually(() => receiver.at('/broken').length === ATTEMPTS)
    const shown = {
      agent_id: ben.id,
      host: receiver.host,
      pending: 0,
      due: 0,
      failed: 1,
      retryable: 1,
      struggling: true,
      last_error: 'status 500',
    }
    await eventually(async () => expect(await documentOf('jobs', '--agent', ben.id)).toMatchObject(shown))
    expect((await operate('jobs')).stdout).toMatch(new RegExp(`${ben.id}  ${receiver.host} .*Z  status 500`))

    expect(await operate('jobs', 'retry')).toMatchObject({ exitCode: 2 })
    const before = [await contentsOf('webhook.jobs', ben), await contentsOf('webhook.endpoints', ben)]
    const retry = (...rest: string[]) => documentOf('jobs', 'retry', '--agent', ben.id, ...WHY, ...rest)
    expect(await retry('--dry-run')).toEqual({ jobs: 1, dry_run: true })
    expect([await contentsOf('webhook.jobs', ben), await contentsOf('webhook.endpoints', ben)]).toEqual(before)

    receiver.answer('/broken', 204)
    expect(await documentOf('jobs', 'retry', '--message', 'another-message', ...WHY)).toEqual({
      jobs: 0,
      dry_run: false,
    })
    expect(await retry()).toEqual({ jobs: 1, dry_run: false })
    await eventually(() => receiver.at('/broken').length === ATTEMPTS + 1)
    // the same delivery id, with the same bytes
    const [first, last] = [receiver.at('/broken')[0], receiver.at('/broken').at(-1)]
    expect(last?.headers['x-svc-delivery-id']).toBe(first?.headers['x-svc-delivery-id'])
    expect(last?.headers['x-svc-message-id']).toBe(body.msg_id)
    expect(last?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
    await eventually(async () => {
      expect((await got(ben.get('/v2/webhook'))).body).toMatchObject({ pending: 0, failed: 0 })
    })
    expect(await retry()).toEqual({ jobs: 0, dry_run: false })
    expect(await documentOf('jobs', 'retry', '--all', ...WHY)).toEqual({ jobs: 0, dry_run: false })
  })

  test('a job of a webhook that has changed since, or of an expired message, stays failed', async () => {
    const [anna, ben] = await friends()
    receiver.answer('/changed', 500)
    await setWebhook(ben, '/changed')
    await got(anna.send(ben))
    await eventually(() => receiver.at('/changed').length === ATTEMPTS)
    const retryable = async () => Number((await documentOf('jobs', '--agent', ben.id)).retryable)
    await eventually(async () => expect(await retryable()).toBe(1))
    await admin`update webhook.jobs set expires_at = 1 where agent_id = ${ben.id}`
    expect(await retryable()).toBe(0)
    expect(await documentOf('jobs', 'retry', '--agent', ben.id, ...WHY)).toEqual({ jobs: 0, dry_run: false })
    await admin`update webhook.jobs set expires_at = 99999999999 where agent_id = ${ben.id}`
    await setWebhook(ben, '/elsewhere')
    expect(await documentOf('jobs', 'retry', '--agent', ben.id, ...WHY)).toEqual({ jobs: 0, dry_run: false })
  })
})

describe('svc admin purge', () => {
  test('removes expired messages: a dry run counts them and changes nothing, a repeat finds none', async () => {
    const [anna, ben] = await friends()
    const messages = 3
    for (let sent = 0; sent < messages; sent += 1) await got(anna.send(ben))
    // The purge loop also finds these messages within seconds. Either may remove them, but each is removed only once.
    const ids = (await admin`select id from messaging.messages where sender = ${anna.id}`).map(({ id }) => String(id))
    expect(ids).toHaveLength(messages)
    await expireMessages(admin, ids, DEFAULTS.retentionDays * 86_400)
    const would = await documentOf('purge', '--dry-run')
    expect(Number(would.partitions)).toBeLessThanOrEqual(1)
    // a partition that is being read is left for the next pass
    await eventually(async () => {
      expect(Number((await documentOf('purge', ...WHY)).partitions)).toBeLessThanOrEqual(1)
      expect(await admin`select from messaging.messages where sender = ${anna.id}`).toHaveLength(0)
    })
    const taken = await admin`select from unnest(${ids}::text[]) u (id) where messaging.place_of(u.id) is not null`
    expect(taken).toHaveLength(messages)
    expect(await documentOf('purge', ...WHY)).toMatchObject({ partitions: 0, more: false, dry_run: false })
    expect((await operate('purge', ...WHY)).stdout).toMatch(/^removed:\npartitions +0\n/)
  })
})

describe('svc admin verify', () => {
  const CHECKED = ['accounts', 'logs', 'messages', 'charges', ...ownersOf('messaging', 'identity', 'boards', 'webhook')]

  function ownersOf(...owners: string[]): string[] {
    return owners.map((owner) => `operations of ${owner}`)
  }

  async function verified(...args: string[]): Promise<{ exitCode: number; wrong: { rule: string }[]; stdout: string }> {
    const { exitCode, stdout, stderr, documents } = await operate('verify', ...args, '--json')
    expect(stderr).toBe('')
    const found = documents<{ wrong?: { rule: string } }>()
    return { exitCode, stdout, wrong: found.flatMap(({ wrong }) => (wrong === undefined ? [] : [wrong])) }
  }

  let anna: Agent
  let ben: Agent

  beforeAll(async () => {
    // the books contain one operation of each kind
    ;[anna, ben] = await h.agents(2)
    await got(anna.send(ben, 'a request'))
    await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
    await got(anna.send(ben, 'x'.repeat(3_000)))
    await got(ben.call('POST', '/v2/messages', { body: await ben.sealed(anna, 'sealed') }))
    await got(anna.send(anna, 'to oneself'))
    await documentOf('grant', anna.id, '5', `verify ${anna.id}`, ...WHY)
    const board = await newBoard(anna)
    await subscribe(ben, board)
    const { body: post } = await got(anna.send(`board:${board}`, 'y'.repeat(2_000)))
    await got(ben.put(`/v2/messages/${post.msg_id}/vote`))
    const { body: hidden } = await got(anna.send(`board:${board}`, 'hidden'))
    await got(anna.put(`/v2/boards/${board}/messages/${hidden.msg_id}/visibility`, { hidden: true }))
    await got(anna.patch('/v2/me', { inbox_policy: 'open' }))
    await untilResolved(admin)
  })

  test('correct books pass, for all and for one agent, also in small pages', async () => {
    const all = await operate('verify')
    expect(all).toMatchObject({ exitCode: 0, stderr: '' })
    expect(all.stdout.match(/^.*?(?= {2})/gm)).toEqual(CHECKED)
    expect(all.stdout).not.toMatch(/\b0 checked/)
    expect(await verified('--page', '1')).toMatchObject({ exitCode: 0, wrong: [] })
    expect(await verified('--agent', anna.id)).toMatchObject({ exitCode: 0, wrong: [] })
  })

  test('old charges are summed page by page, and compared with the counters too', async () => {
    // moves the charges back by more than a minute, unless the day is younger than that
    await admin`
      update budget.reservations set deadline_ms = deadline_ms - least(
        90000, (extract(epoch from now() at time zone 'UTC' - date_trunc('day', now() at time zone 'UTC')) * 500)::bigint
      )`
    expect(await verified()).toMatchObject({ exitCode: 0, wrong: [] })
    await admin`update budget.accounts set used_units = used_units + 1 where agent_id = ${ben.id}`
    const { exitCode, wrong } = await verified()
    await admin`update budget.accounts set used_units = used_units - 1 where agent_id = ${ben.id}`
    expect([exitCode, wrong.map(({ rule }) => rule)]).toEqual([5, ['units of today']])
    // an account whose counters belong to another day than its charge
    const day = await admin`
      update budget.accounts set day = day - 1 where agent_id = ${ben.id} returning used_introductions, credits_drawn`
    expect(day).toHaveLength(1)
    expect((await verified()).wrong.map(({ rule }) => rule)).toContain('units of today')
    await admin`update budget.accounts set day = day + 1 where agent_id = ${ben.id}`
    expect(await verified()).toMatchObject({ exitCode: 0, wrong: [] })
  })

  test('it may run while the system works', async () => {
    const [cora, dan] = await friends()
    let working = true
    const load = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (working) await cora.send(dan)
      }),
    )
    for (let run = 0; run < 3; run += 1) expect(await verified()).toMatchObject({ exitCode: 0, wrong: [] })
    working = false
    await load
    await untilResolved(admin)
  })

  /** Breaks the books. @returns a function that mends them. */
  type Breach = () => Promise<() => Promise<unknown>>

  /** Changes a number of anna's account. */
  function addTo(column: string, by: number): Breach {
    const add = (sum: number) => admin`
      update budget.accounts set ${admin(column)} = ${admin(column)} + ${sum}::integer where agent_id = ${anna.id}`
    return async () => {
      await add(by)
      return () => add(-by)
    }
  }

  /** Inserts a charge of anna. */
  function reserve(charge: { operation: string; state: string; owner: string; agoMs: number }): Breach {
    const { operation, state, owner, agoMs } = charge
    return async () => {
      await admin`
        insert into budget.reservations
          (operation, state, owner, agent_id, units, introduction_peer, deadline_ms, day, credits, introduces, slot)
        values (${operation}, ${state}, ${owner}, ${anna.id}, 0, null, ${Date.now() - agoMs}, current_date, 0, false, 0)`
      return () => admin`delete from budget.reservations where operation = ${operation}`
    }
  }

  const BREACHES: readonly (readonly [name: string, rule: string, breach: Breach])[] = [
    ['units that were charged without an effect', 'units of today', addTo('used_units', 1)],
    ['credits that were never granted', 'credit balance', addTo('credit_balance', 1)],
    ['an introduction that is not counted', 'introductions', addTo('used_introductions', -1)],
    [
      'a pair that was never introduced',
      'introduction of a pair',
      async () => {
        const pair = await admin`delete from budget.introductions where agent_id = ${anna.id} returning *`
        await admin`update budget.accounts set used_introductions = used_introductions - 1 where agent_id = ${anna.id}`
        return async () => {
          await admin`insert into budget.introductions ${admin(pair)}`
          await admin`update budget.accounts set used_introductions = used_introductions + 1 where agent_id = ${anna.id}`
        }
      },
    ],
    [
      'a reservation that is never resolved',
      'overdue reservation',
      reserve({ operation: 'nobody:1', state: 'held', owner: 'nobody', agoMs: 86_400_000 }),
    ],
    [
      'a message without its charge',
      'charge of a message',
      async () => {
        const rows = await admin`
          delete from budget.reservations where agent_id = ${ben.id} and operation like 'messaging:message:%' returning *`
        return () => admin`insert into budget.reservations ${admin(rows)}`
      },
    ],
    [
      'a message whose charge has another amount',
      'cost of a message',
      async () => {
        const rows = await admin`
          update budget.reservations set units = 4
          where agent_id = ${anna.id} and operation like 'messaging:message:%' and units = 3 returning operation`
        expect(rows).toHaveLength(1)
        return () => admin`update budget.reservations set units = 3 where operation = ${rows[0]?.operation}`
      },
    ],
    [
      'a charge without its effect',
      'effect of a charge',
      reserve({ operation: 'identity:never', state: 'settled', owner: 'identity', agoMs: 0 }),
    ],
    [
      'an operation without its charge',
      'charge of an operation',
      async () => {
        await admin`
          insert into boards.operations (id, committed, deadline_ms)
          values ('boards:free', true, (extract(epoch from now()) * 1000)::bigint)`
        return () => admin`delete from boards.operations where id = 'boards:free'`
      },
    ],
    [
      'an entry above the head of its log',
      'head of a log',
      async () => {
        await admin`update messaging.logs set head = head - 1 where id = ${ben.id}`
        return () => admin`update messaging.logs set head = head + 1 where id = ${ben.id}`
      },
    ],
    [
      'a lost entry',
      'messages with their entries',
      async () => {
        const rows = await admin`
          delete from messaging.entries e using messaging.logs l
          where e.log = ${ben.id} and l.id = e.log and e.position = l.head - 1 and e.kind = 'inbox' returning e.*`
        const lost =
          rows.length > 0
            ? rows
            : await admin`
          delete from messaging.entries e where (e.log, e.position) = (
            select f.log, max(f.position) from messaging.entries f where f.log = ${ben.id} and f.kind = 'inbox' group by f.log
          ) returning e.*`
        return () => admin`insert into messaging.entries ${admin(lost)}`
      },
    ],
    [
      'an entry without a message',
      'entries with their messages',
      async () => {
        await admin`
          insert into messaging.entries (log, kind, position, message, expires_at)
          select l.id, 'inbox', l.head + 1000, 1, 99999999999 from messaging.logs l where l.id = ${anna.id}`
        return () => admin`delete from messaging.entries where message = 1`
      },
    ],
  ]

  test.each(BREACHES)('%s is found: %s', async (_, rule, breakBooks) => {
    const mend = await breakBooks()
    try {
      const { exitCode, wrong } = await verified()
      expect(exitCode).toBe(5)
      expect(wrong.map((each) => each.rule)).toContain(rule)
    } finally {
      await mend()
    }
  })

  test('the mended books are correct', async () => {
    expect(await verified()).toMatchObject({ exitCode: 0, wrong: [] })
  })

  test('as text a fault has its rule, its owner, and both figures', async () => {
    await admin`update budget.accounts set credit_balance = credit_balance + 1 where agent_id = ${anna.id}`
    const { exitCode, stdout } = await operate('verify', '--agent', anna.id)
    await admin`update budget.accounts set credit_balance = credit_balance - 1 where agent_id = ${anna.id}`
    expect(exitCode).toBe(5)
    expect(stdout).toContain(`WRONG in accounts: credit balance of ${anna.id}: 6 instead of 5\n`)
    expect(stdout).toMatch(/^accounts +1 checked +1 WRONG$/m)
  })
})
