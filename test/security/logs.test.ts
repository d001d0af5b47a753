/** The logs of processes while agents use everything and attackers try to break in. */
import { randomBytes } from 'node:crypto'
import { ERRORS } from '@svc/contracts/errors.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Agent, type HttpAnswer } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { newBoard } from '../support/client/boards.ts'
import { openRaw } from '../support/client/raw-http.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'

/** Text that is part of everything that must not be logged. */
const MARK = `mark${randomBytes(8).toString('hex')}`
/** Text that could forge a log line or a terminal command, if it were logged as it is. */
const BREAK = '\r\n{"level":60,"msg":"forged"}\u001b[2J\u2028'

const FALSE_SIGNATURES = 25

let h: Harness
const agents: Agent[] = []
const statuses: number[] = []
/** Logs of processes that were killed. */
const kept: Logged[] = []

beforeAll(async () => {
  h = await startHarness({
    replicas: { gateway: 1, identity: 1, messaging: 1, boards: 1, budget: 1, stream: 1, webhook: 1 },
    env: { SVC_LOG_LEVEL: 'trace' },
  })
  const [anna, ben, carl] = await h.agents(3)
  agents.push(anna, ben, carl)
  await causeEvents(carl)
  await got(ben.patch('/v2/me', { inbox_policy: 'open' }))
  await got(anna.send(ben, `${MARK}${BREAK}`))
  await got(anna.send(ben, { [MARK]: BREAK }))
  const board = await newBoard(anna, { title: MARK, description: BREAK })
  await got(anna.send(`board:${board}`, MARK))
  await got(ben.put('/v2/webhook', { url: `https://hook.invalid/${MARK}?${MARK}`, secret: MARK.padEnd(32, 'x') }))
  await got(anna.send(ben, MARK))
  // Refusals for many reasons.
  await anna.post('/v2/messages', { id: MARK, body: BREAK })
  await anna.get(`/v2/agents/${MARK}`)
  await anna.get(`/v2/inbox?after=${MARK}`)
  await anna.get(`/v2/${MARK}%0d%0a%1b`)
  const signed = anna.sign('GET', '/v2/me')
  await fetch(`${h.place.url}/v2/me`, { headers: { ...signed, 'X-SVC-Nonce': MARK.padEnd(32, '0') } })
  await fetch(`${h.place.url}/v2/me`, { headers: { Authorization: `SVC ${MARK}:${MARK}`, 'X-Request-Id': MARK } })
  for (const bytes of [`${MARK}${BREAK}\r\n\r\n`, `GET /v2/health HTTP/1.1\r\nhost: ${MARK}\r\nx ${MARK}: 1\r\n\r\n`]) {
    using connection = openRaw(h.place.url)
    connection.write(bytes)
    await connection.ended
  }
  // Internal errors that quote data: a row that breaks a constraint, an invalid value.
  await using admin = openAdmin(h.system.database.adminUrl)
  await admin.sql`alter table messaging.messages add constraint never check (false) not valid`
  await admin.sql`alter table messaging.contacts add constraint never check (false) not valid`
  await admin.sql`alter table webhook.endpoints add constraint never check (false) not valid`
  await admin.sql`alter table boards.boards add constraint never check (false) not valid`
  const failing = [
    () => anna.send(ben, MARK),
    () => ben.put(`/v2/contacts/${anna.id}`, { state: 'blocked' }),
    () => anna.post('/v2/boards', { title: MARK, visibility: 'public' }),
    () => ben.put('/v2/webhook', { url: `https://hook.invalid/${MARK}?${MARK}`, secret: MARK.padEnd(32, 'y') }),
  ]
  // A process reads its source map for its first error. On a busy machine the answer may then come too late.
  const untilFailed = (request: () => Promise<HttpAnswer>): Promise<HttpAnswer> =>
    eventually(async () => {
      const answer = await request()
      return answer.status !== 503 && answer
    })
  const failed = await Promise.all(failing.map(untilFailed))
  statuses.push(...failed.map(({ status }) => status))
  // The same with its dependencies down.
  await h.system.kill('messaging-1')
  await anna.send(ben, MARK)
  kept.push(...logged()) // complete, because the process has ended
  await h.system.start('messaging-1')
  await eventually(async () => (await anna.get('/v2/inbox')).status === 200)
})
afterAll(() => h?.[Symbol.asyncDispose]())

/** Everything that is a security event, and repeats that are none. */
async function causeEvents(agent: Agent): Promise<void> {
  await got(agent.put('/v2/webhook', { url: `https://hook.invalid/${MARK}`, secret: MARK.padEnd(32, 'x') }))
  await got(agent.call('DELETE', '/v2/webhook'))
  for (let time = 0; time < FALSE_SIGNATURES; time += 1) {
    const { status } = await fetch(`${h.place.url}/v2/me`, { headers: agent.sign('GET', '/v2/inbox') })
    expect(status).toBe(401)
  }
  await got(agent.post('/v2/me/revoke', { confirm_agent_id: agent.id }))
  await agent.register()
}

interface Logged {
  name: string
  text: string
  event: { level: number; message: string; fields?: Readonly<Record<string, unknown>> }
}

function openAdmin(url: string): AsyncDisposable & { sql: postgres.Sql } {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  return { sql, [Symbol.asyncDispose]: () => sql.end() }
}

function logged(): Logged[] {
  const now = [...h.system.processes].flatMap(([name, process]) =>
    process.log.map((event) => ({ name, text: JSON.stringify(event), event })),
  )
  return [...kept, ...now]
}

test('ADR 22: no log has bodies, titles, secrets, names, nonces or URLs of agents, at any level', async () => {
  expect(statuses).toEqual([500, 500, 500, 500])
  await eventually(() => logged().filter(({ event }) => event.level >= 50).length >= statuses.length)
  expect(logged().filter(({ text }) => text.includes(MARK))).toEqual([])
})

test('ADR 22: no log has agent ids, keys or signatures', () => {
  const secrets = agents.flatMap((agent) => [agent.id, agent.pubkey.replace('ed25519:', ''), agent.name])
  expect(logged().filter(({ text }) => secrets.some((secret) => text.includes(secret)))).toEqual([])
})

test('a log names the cause of a failure, and repeats no hint that is meant for clients', async () => {
  const hints = [ERRORS.unavailable.message, ERRORS.internal.message]
  expect(logged().filter(({ text }) => hints.some((hint) => text.includes(hint)))).toEqual([])
  // Messaging was killed: the gateway says which call found nobody.
  const messages = logged().flatMap(
    ({ event }) => (event.fields?.err as { message?: string } | undefined)?.message ?? [],
  )
  expect(messages).toContainEqual(
    expect.stringMatching(/^unavailable: svc\.messaging\.[a-z-]+: no (responders|answer)/),
  )
  expect(messages).toContainEqual(expect.stringContaining('violates check constraint'))
})

test('a client cannot forge a log line', () => {
  expect(logged().filter(({ event }) => event.message.includes('forged') || event.level === 60)).toEqual([])
  // A line that is not JSON has no fields. Services write nothing else.
  const odd = logged().filter(({ text }) => text.endsWith('"fields":{}}') && !/"message":"[\w ,.:()'-]*"/.test(text))
  expect(odd).toEqual([])
})

test('SVC_SECURITY_LOG=on: each security event is one line with ids, and no other line has an id', async () => {
  await using admin = openAdmin(h.system.database.adminUrl)
  await admin.sql`alter table webhook.endpoints drop constraint never`
  // The gateway ends last: it needs the others, and reports refused signatures at the latest when it stops.
  const names = ['identity-1', 'webhook-1', 'gateway-1']
  for (const name of names) {
    await h.system.kill(name)
    await h.system.start(name, { SVC_SECURITY_LOG: 'on' })
  }
  await eventually(async () => (await fetch(`${h.place.url}/v2/health`)).status === 200)
  const dora = new Agent(h.place)
  await dora.register()
  await causeEvents(dora)
  const processes = names.flatMap((name) => h.system.processes.get(name) ?? [])
  await Promise.all(processes.map((process) => process.stop()))

  const lines = processes.flatMap((process) => process.log).map(({ message, fields }) => ({ message, ...fields }))
  const withIds = lines.filter((line) => JSON.stringify(line).includes(dora.id))
  const about = (security_event: string) => ({
    message: 'security event',
    security_event,
    agent_id: dora.id,
    request_id: expect.stringMatching(/^[0-9a-f]{32}$/),
  })
  expect(withIds).toEqual([
    about('registration'),
    about('revocation'),
    about('webhook_changed'),
    about('webhook_deleted'),
    {
      message: 'security event',
      security_event: 'signatures_refused',
      agent_id: dora.id,
      count: FALSE_SIGNATURES,
      window_seconds: 60,
    },
  ])
  const shown = [MARK, dora.name, dora.pubkey.replace('ed25519:', '')]
  expect(lines.filter((line) => shown.some((text) => JSON.stringify(line).includes(text)))).toEqual([])
})
