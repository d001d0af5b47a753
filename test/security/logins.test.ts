/**
 * A hostile program with each login of NATS in turn, on a running system. The table of docs/operating/secure.md, *Who can do
 * what with which credential*, says what it can do.
 */
import { randomUUID } from 'node:crypto'
import { askedBy } from '@svc/contracts/admin.ts'
import { grantCredits, listOverdue } from '@svc/contracts/budget.ts'
import { findAgent, getIdentity } from '@svc/contracts/identity.ts'
import { replayEvents, setMailbox } from '@svc/contracts/messaging.ts'
import { NATS_LOGINS, NATS_USERS, type NatsLogin, type NatsUser, SERVICES } from '@svc/local/topology.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { encodeRequest } from '@svc/nats/wire/frames.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { type Msg, nanos } from 'nats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent } from '../support/client/agent.ts'
import { startTestNats, type TestNats } from '../support/engines/engines.ts'
import { eventually } from '../support/eventually.ts'
import { holdLogin, type NatsHolder } from '../support/stand-ins/nats-login.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

let h: Harness
let victim: Agent
let mallory: Agent
beforeAll(async () => {
  h = await startHarness({ replicas: ONE_OF_EACH })
  ;[victim, mallory] = await h.agents(2)
})
afterAll(() => h[Symbol.asyncDispose]())

const hold = (login: NatsLogin, nats: Pick<TestNats, 'urlFor'> = h.system.nats): Promise<NatsHolder> => {
  const { host, username: user, password: pass } = new URL(nats.urlFor(login))
  return holdLogin({ servers: host, user, pass, inboxPrefix: `_INBOX_${userOf(login)}.${userOf(login)}` })
}
const userOf = (login: NatsLogin): NatsUser => login.replace('_b', '') as NatsUser
const context = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 })

/** The calls of a service, made with a login as its service makes them. */
async function busWith(login: NatsLogin, stack: AsyncDisposableStack) {
  const options = { url: h.system.nats.urlFor(login), name: 'hostile', logger: createLogger('test', 'silent') }
  const asOperator = login.startsWith('admin')
  const nats = stack.adopt(await connectNats({ ...options, asOperator }), (one) => drainNats(one, 500))
  return stack.use(createBus(nats))
}

/** @returns those of the subjects that the holder may publish. */
async function publishable(holder: NatsHolder, subjects: readonly string[]): Promise<string[]> {
  const allowed: string[] = []
  for (const subject of subjects)
    if (await holder.isAllowed((connection) => connection.publish(subject))) allowed.push(subject)
  return allowed
}

/** Mallory signs with her own key, in the victim's name. */
function impostorOf(agent: Agent): Agent {
  return new Agent(agent.place, agent.name, { ...mallory.key, agentId: agent.id })
}

function forgedAnswer(agent: Agent): string {
  const { agent_id, name, pubkey } = { agent_id: agent.id, name: agent.name, pubkey: mallory.pubkey }
  return `0+${JSON.stringify({ agent: { agent_id, name, pubkey, created_at: 1, revoked: false } })}`
}

/** Calls that only the gateway or the operator's tool may make. */
const OTHERS_CALLS = [
  'svc.identity.admit-request',
  'svc.identity.register-agent',
  'svc.identity.revoke-agent',
  'svc.identity.find-agent',
  'svc.messaging.send-message',
  'svc.messaging.get-message',
  'svc.messaging.list-inbox',
  'svc.messaging.export-messages',
  'svc.boards.set-member',
  'svc.boards.create-board',
  'svc.budget.get-budget',
  'svc.webhook.set-webhook',
  'svc.stream.open',
  'svc.gateway.presence',
  'svc.gateway.report-rates.0',
]
/** Nobody makes these: a call of an operator ends with the operator's name. */
const OPERATORS_CALLS = [
  ...['admin.budget.grant-credits', 'admin.messaging.purge', 'admin.webhook.retry-jobs'],
  ...['admin.budget.grant-credits.ann', 'admin.webhook.retry-jobs.gateway'],
]
const STREAM_CALLS = [
  ...['CREATE', 'UPDATE', 'INFO', 'DELETE', 'PURGE', 'MSG.GET', 'MSG.DELETE', 'SNAPSHOT', 'RESTORE'].map(
    (call) => `STREAM.${call}.ACCEPTED`,
  ),
  ...[
    'STREAM.CREATE.OTHER',
    'STREAM.LIST',
    'STREAM.NAMES',
    'DIRECT.GET.ACCEPTED',
    'DIRECT.GET.ACCEPTED.accepted.x.inbox',
  ],
  ...['CONSUMER.CREATE.ACCEPTED', 'CONSUMER.CREATE.ACCEPTED.spy', 'CONSUMER.CREATE.ACCEPTED.spy.accepted.>'],
  ...['CONSUMER.CREATE.ACCEPTED.webhook', 'CONSUMER.CREATE.ACCEPTED.webhook.accepted.>'],
  ...[
    'CONSUMER.DURABLE.CREATE.ACCEPTED.webhook',
    'CONSUMER.DELETE.ACCEPTED.webhook',
    'CONSUMER.PAUSE.ACCEPTED.webhook',
  ],
  ...['CONSUMER.MSG.NEXT.ACCEPTED.spy', 'CONSUMER.LIST.ACCEPTED', 'ACCOUNT.INFO', 'META.LEADER.STEPDOWN'],
].map((call) => `$JS.API.${call}`)
const MAY_OF_STREAM: Partial<Record<NatsUser, readonly string[]>> = {
  messaging: ['CREATE', 'UPDATE', 'INFO', 'PURGE'].map((call) => `$JS.API.STREAM.${call}.ACCEPTED`),
  admin: ['$JS.API.STREAM.INFO.ACCEPTED'],
}

describe.each(NATS_LOGINS)('the login %s', (login) => {
  const user = userOf(login)

  test('hears nothing but its own subjects', async () => {
    await using holder = await hold(login)
    const others = NATS_USERS.filter((other) => other !== user)
    const subjects = [
      ...others.flatMap((other) => [
        `svc.${other}.>`,
        `admin.${other}.>`,
        `_INBOX_${other}.>`,
        `_INBOX_${other}.${user}.>`,
      ]),
      ...['>', '*.>', 'svc.>', 'admin.>', '_INBOX.>', '$JS.>', '$JS.API.>', '$SYS.>'],
      ...(user === 'stream' ? [] : ['accepted.>', `accepted.${victim.id}.inbox`]),
    ]
    const heard: string[] = []
    for (const subject of subjects)
      if (await holder.isAllowed((connection) => connection.subscribe(subject, { callback: () => {} })))
        heard.push(subject)
    expect(heard).toEqual([])
  })

  test('makes no calls of others, and changes the stream no further than its service needs', async () => {
    await using holder = await hold(login)
    const allowed = await publishable(holder, [
      ...(user === 'gateway' ? [] : OTHERS_CALLS),
      ...OPERATORS_CALLS,
      ...(user === 'identity' ? [] : ['erase.messaging.agent', 'erase.budget.agent']),
      ...(user === 'admin' ? [] : ['admin.budget.grant-credits.admin', '$SRV.PING']),
      ...STREAM_CALLS,
      ...(user === 'messaging' ? [] : [`accepted.${victim.id}.inbox`]),
      ...(user === 'webhook' ? [] : ['$JS.ACK.ACCEPTED.webhook.1.1.1.1.1']),
    ])
    expect(allowed).toEqual(MAY_OF_STREAM[user] ?? [])
  })

  test('gives no agent another key: neither in place of identity, nor as identity', async () => {
    await using holder = await hold(login)
    const { connection } = holder
    const seen: string[] = []
    if (user !== 'admin')
      connection.subscribe(`svc.${user}.>`, { callback: (_, { reply }) => reply && seen.push(reply) })
    await connection.flush()
    // Each service but the gateway is asked for its health, so its login learns where the gateway waits for answers.
    if (user !== 'admin' && user !== 'gateway')
      await eventually(async () => {
        await victim.get('/v2/health')
        expect(seen).not.toEqual([])
      })
    const processes = [...new Set(seen.map((reply) => reply.split('.')[2] ?? '')), '0123456789ABCDEFGHIJKL']
    const inboxes = NATS_USERS.flatMap((caller) =>
      NATS_USERS.filter((callee) => callee !== user).flatMap((callee) =>
        processes.flatMap((process) => [
          `_INBOX_${caller}.${callee}.${process}.${randomUUID()}`,
          `_INBOX_${caller}.${process}.1`,
        ]),
      ),
    )
    expect(await publishable(holder, [...new Set(inboxes)])).toEqual([])

    const [target] = await h.agents(1)
    if (user === 'identity')
      connection.subscribe(findAgent.subject, { callback: (_, message) => message.respond(forgedAnswer(target)) })
    await connection.flush()
    // The gateway does not know the key yet. It asks identity, and the holder answers too.
    const answer = await impostorOf(target).get('/v2/me')
    expect([401, 500], answer.text).toContain(answer.status)
    expect(answer.body.error.code).toMatch(/^(?:signature_invalid|internal)$/)
    await connection.close()
    expect((await target.get('/v2/me')).status).toBe(200)
  })
})

describe('the login gateway', () => {
  test('acts for any agent', async () => {
    await using stack = new AsyncDisposableStack()
    const bus = await busWith('gateway', stack)
    expect(await bus.call(getIdentity, { agent_id: victim.id }, context())).toMatchObject({
      agent: { name: victim.name },
    })
  })
})

describe('the login identity', () => {
  test('sets a mailbox, and lists charges', async () => {
    await using stack = new AsyncDisposableStack()
    const bus = await busWith('identity', stack)
    const mailbox = { agent_id: mallory.id, policy: 'open', revoked: false, version: 1 } as const
    await bus.call(setMailbox, mailbox, context())
    await bus.call(listOverdue, { owner: 'identity', limit: 1 }, context())
  })
})

describe('the login messaging', () => {
  test('publishes events, but the stream carries none of them to a service as a call', async () => {
    await using holder = await hold('messaging')
    const manager = await holder.connection.jetstreamManager({ checkAPI: false })
    const { config } = await manager.streams.info('ACCEPTED')
    const [target] = await h.agents(1)
    const republish = { src: 'accepted.hostile.*', dest: 'svc.identity.revoke-agent' }
    await manager.streams.update('ACCEPTED', { ...config, republish })
    const line = encodeRequest({ agent_id: target.id }, context())
    const reply = '_INBOX_messaging.identity.0123456789ABCDEFGHIJKL.token'
    holder.connection.publish('accepted.hostile.inbox', line, { reply })
    await holder.connection.flush()
    expect((await manager.streams.info('ACCEPTED', { subjects_filter: 'accepted.hostile.*' })).state.subjects).toEqual({
      'accepted.hostile.inbox': 1,
    })
    expect((await target.get('/v2/me')).body.agent.revoked).toBe(false)
  })

  test('configures the stream, and so reads what passes NATS, unless others manage the stream', async () => {
    await using nats = await startTestNats()
    await using messaging = await hold('messaging', nats)
    await using gateway = await hold('gateway', nats)
    const heard: string[] = []
    messaging.connection.subscribe('svc.messaging.copy', { callback: (_, message) => heard.push(message.string()) })
    const manager = await messaging.connection.jetstreamManager({ checkAPI: false })
    const republish = { src: 'svc.webhook.set-webhook', dest: 'svc.messaging.copy' }
    const config = { name: 'ACCEPTED', subjects: ['accepted.>', 'svc.webhook.set-webhook'], republish }
    await manager.streams.add(config)
    gateway.connection.publish('svc.webhook.set-webhook', 'a secret')
    await eventually(() => expect(heard).toEqual(['a secret']))
  })
})

describe('the logins boards and budget', () => {
  test('boards charges; budget calls nobody', async () => {
    await using stack = new AsyncDisposableStack()
    const bus = await busWith('boards', stack)
    expect(await bus.call(listOverdue, { owner: 'messaging', limit: 1 }, context())).toHaveProperty('reservations')
    await using budget = await hold('budget')
    const everywhere = SERVICES.flatMap((service) => [`svc.${service}.health`, `svc.${service}.any`])
    expect(await publishable(budget, everywhere)).toEqual([])
  })
})

describe('the login stream', () => {
  test('hears each event with its content, and reads any history', async () => {
    await using stack = new AsyncDisposableStack()
    const holder = stack.use(await hold('stream'))
    const heard: string[] = []
    holder.connection.subscribe('accepted.>', { callback: (_, message) => heard.push(message.string()) })
    await holder.connection.flush()
    expect((await mallory.send(victim, 'in the clear')).status).toBe(202)
    await eventually(() => expect(heard.join()).toContain('in the clear'))
    const bus = await busWith('stream', stack)
    const { text } = await bus.callText(replayEvents, { agent_id: victim.id, after: 0, limit: 100 }, context())
    expect(text).toContain('in the clear')
  })
})

describe('the login webhook', () => {
  test('reads inbox events that are kept, and no others', async () => {
    await using nats = await startTestNats()
    await using messaging = await hold('messaging', nats)
    await using webhook = await hold('webhook', nats)
    const manager = await messaging.connection.jetstreamManager({ checkAPI: false })
    await manager.streams.add({ name: 'ACCEPTED', subjects: ['accepted.>'] })
    for (const kind of ['inbox', 'requests', 'board']) messaging.connection.publish(`accepted.agent.${kind}`, kind)
    await messaging.connection.flush()
    const consumer = { durable_name: 'webhook', ack_policy: 'explicit', deliver_policy: 'all' }
    const create = async (subject: string, config: object): Promise<string> => {
      const body = JSON.stringify({ stream_name: 'ACCEPTED', config: { ...consumer, ...config } })
      return (await webhook.connection.request(`$JS.API.CONSUMER.CREATE.ACCEPTED.webhook.${subject}`, body)).string()
    }
    const inbox = 'accepted.*.inbox'
    for (const config of [{ filter_subject: 'accepted.>' }, { filter_subjects: [inbox, 'accepted.*.board'] }, {}])
      expect(await create(inbox, config)).toContain('"error"')
    expect(await create(inbox, { filter_subject: inbox })).not.toContain('"error"')
    const heard: Msg[] = []
    webhook.connection.subscribe('_INBOX_webhook.webhook.pull', { callback: (_, message) => heard.push(message) })
    const next = JSON.stringify({ batch: 10, expires: nanos(1_000) })
    webhook.connection.publish('$JS.API.CONSUMER.MSG.NEXT.ACCEPTED.webhook', next, {
      reply: '_INBOX_webhook.webhook.pull',
    })
    // The last message is the end of the pull.
    await eventually(() => expect(heard.at(-1)?.headers?.code).toBe(408))
    expect(heard.slice(0, -1).map((message) => message.string())).toEqual(['inbox'])
  })
})

describe('the login admin', () => {
  test('grants credits', async () => {
    await using stack = new AsyncDisposableStack()
    const bus = await busWith('admin', stack)
    const grant = { agent_id: mallory.id, units: 1, reference: randomUUID(), reason: 'test' }
    expect(await bus.call(askedBy('admin', grantCredits), grant, context())).toEqual({
      granted: true,
      credit_balance: 1,
    })
  })
})

test('after all of them, the stream is there, and messages arrive', async () => {
  const [alice, bob] = await h.agents(2)
  expect((await alice.send(bob, 'still here')).status).toBe(202)
  await eventually(async () => expect((await bob.get('/v2/events?after=0')).text).toContain('still here'))
})
