import { readFileSync } from 'node:fs'
import { credsAuthenticator, type NatsConnection } from 'nats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as admin from '../../../libs/contracts/src/admin.ts'
import * as boards from '../../../libs/contracts/src/boards.ts'
import * as budget from '../../../libs/contracts/src/budget.ts'
import type { Call } from '../../../libs/contracts/src/define.ts'
import * as erasure from '../../../libs/contracts/src/erasure.ts'
import { healthOf } from '../../../libs/contracts/src/health.ts'
import * as identity from '../../../libs/contracts/src/identity.ts'
import * as messaging from '../../../libs/contracts/src/messaging.ts'
import * as stream from '../../../libs/contracts/src/stream.ts'
import * as webhook from '../../../libs/contracts/src/webhook.ts'
import { connectNats, drainNats } from '../../../libs/nats/src/connect.ts'
import { openInbox } from '../../../libs/nats/src/wire/inbox.ts'
import { createLogger } from '../../../libs/telemetry/src/logger.ts'
import { startConfiguredNats, startTestNats, type TestNats } from '../../../test/support/engines/engines.ts'
import { createNatsOperator } from '../../../test/support/engines/nats/nats-operator.ts'
import { holdLogin, type NatsHolder } from '../../../test/support/stand-ins/nats-login.ts'
import { NATS_LOGINS, NATS_USERS, type NatsLogin, type NatsUser, SERVICES } from '../src/topology.ts'

const CHARGERS: readonly NatsUser[] = ['gateway', 'identity', 'messaging', 'boards', 'webhook']

/** The callers of each call besides the gateway, which may make every call. */
const ASKED_BY: Record<string, readonly NatsUser[]> = {
  'svc.messaging.set-mailbox': ['gateway', 'identity'],
  'svc.messaging.set-suspension': ['gateway', 'identity'],
  'svc.messaging.list-heads': ['gateway', 'stream'],
  'svc.messaging.list-moved': ['gateway', 'webhook'],
  'svc.messaging.list-revoked': ['gateway', 'stream'],
  'svc.messaging.list-missing': ['gateway', 'webhook'],
  'svc.messaging.list-arrivals': ['gateway', 'webhook'],
  'svc.messaging.read-arrivals': ['gateway', 'webhook'],
  'svc.messaging.replay-events': ['gateway', 'stream'],
  'svc.messaging.resolve-post': ['gateway', 'stream'],
  'svc.boards.judge-access': ['gateway', 'messaging'],
  'svc.boards.judge-boards': ['gateway', 'messaging'],
  'svc.boards.list-subscribers': ['gateway', 'messaging'],
  'svc.budget.reserve': CHARGERS,
  'svc.budget.settle': CHARGERS,
  'svc.budget.settle-soon': CHARGERS,
  'svc.budget.release': CHARGERS,
  'svc.budget.list-overdue': CHARGERS,
  'svc.webhook.close-webhook': ['gateway', 'identity'],
  'erase.messaging.agent': ['identity'],
  'erase.webhook.agent': ['identity'],
  'erase.webhook.orphans': ['identity'],
  'erase.boards.agent': ['identity'],
  'erase.budget.agent': ['identity'],
  'svc.webhook.set-suspension': ['gateway', 'identity'],
  'svc.stream.measure': ['gateway', 'admin'],
  'svc.webhook.measure': ['gateway', 'admin'],
}
/** The callers that each service answers, in the order of `NATS_USERS`. */
const ANSWERED: Record<NatsUser, readonly NatsUser[]> = {
  budget: ['boards', 'webhook', 'messaging', 'identity', 'gateway', 'admin'],
  boards: ['messaging', 'identity', 'gateway', 'admin'],
  webhook: ['identity', 'gateway', 'admin'],
  messaging: ['webhook', 'identity', 'stream', 'gateway', 'admin'],
  identity: ['gateway', 'admin'],
  stream: ['stream', 'gateway', 'admin'],
  gateway: ['gateway', 'admin'],
  admin: [],
}
const INBOXES: readonly string[] = NATS_USERS.flatMap((caller) => [
  ...NATS_USERS.map((callee) => `_INBOX_${caller}.${callee}.process.token`),
  // Without a callee, and patterns.
  `_INBOX_${caller}.0123456789ABCDEFGHIJKL.1`,
  `_INBOX_${caller}.*.process.token`,
  `_INBOX_${caller}.>`,
])
const OWNERS = ['messaging', 'identity', 'boards', 'webhook'] as const

let nats: TestNats

beforeAll(async () => {
  nats = await startTestNats()
})
afterAll(() => nats[Symbol.asyncDispose]())

test('the table and the list of services name the same users, and both logins of a user have the same permissions', () => {
  const table = readFileSync(new URL('../../nats/users.conf', import.meta.url), 'utf8')
  const logins = [...table.matchAll(/^ *\{ user: (\w+), password: \$\w+, permissions: \$MAY_(\w+) \}$/gm)]
  expect(Object.fromEntries(logins.map(([, login, permissions]) => [login, permissions]))).toEqual(
    Object.fromEntries(NATS_LOGINS.map((login) => [login, login.replace('_b', '').toUpperCase()])),
  )
})

test('processes with the first and the second login of a user can call each other', async () => {
  const open = (login: NatsLogin) =>
    connectNats({ url: nats.urlFor(login), name: login, logger: createLogger('test', 'silent') })
  const [gateway, next, identity, nextIdentity] = await Promise.all([
    open('gateway'),
    open('gateway_b'),
    open('identity'),
    open('identity_b'),
  ])
  try {
    for (const [name, { connection }] of Object.entries({ identity, nextIdentity })) {
      connection.subscribe('svc.identity.rotation', { callback: (_, message) => message.respond(name) })
      await connection.flush()
    }
    for (const { connection, inboxPrefix } of [gateway, next]) {
      expect(inboxPrefix).toBe('_INBOX_gateway')
      const inbox = openInbox({ inboxPrefix })
      const answers = connection.subscribe(inbox.pattern, { max: 2 })
      connection.publish('svc.identity.rotation', '', { reply: inbox.replyFrom('identity') })
      const names: string[] = []
      for await (const answer of answers) names.push(answer.string())
      expect(names.toSorted()).toEqual(['identity', 'nextIdentity'])
    }
  } finally {
    await Promise.all([gateway, next, identity, nextIdentity].map((one) => drainNats(one)))
  }
})

/** How users log in, by mode. The table must have the same effect in both modes. */
const MODES = {
  'by password': async () => {
    const login = (user: NatsUser) => ({ user, pass: new URL(nats.urlFor(user)).password })
    return { servers: new URL(nats.urlFor('admin')).host, login, stop: async () => {} }
  },
  'by JWT, in operator mode': async () => {
    const operator = await createNatsOperator()
    const server = await startConfiguredNats(operator.config)
    const creds = new Map<NatsUser, string>()
    for (const user of NATS_USERS) creds.set(user, await operator.credsFor(user))
    const login = (user: NatsUser) => ({
      authenticator: credsAuthenticator(new TextEncoder().encode(creds.get(user) ?? '')),
    })
    return { servers: `127.0.0.1:${server.port}`, login, stop: () => server[Symbol.asyncDispose]() }
  },
}

describe.each(Object.entries(MODES))('%s a NATS user may use only its own subjects', (_, openMode) => {
  const holders = new Map<NatsUser, NatsHolder>()
  let stop: () => PromiseLike<void>

  beforeAll(async () => {
    const mode = await openMode()
    stop = mode.stop
    for (const user of NATS_USERS) {
      const inboxPrefix = user === 'admin' ? '_INBOX_admin.admin.admin' : `_INBOX_${user}`
      const login = { servers: mode.servers, inboxPrefix, ...mode.login(user) }
      holders.set(user, await holdLogin(login))
    }
  })
  afterAll(async () => {
    for (const holder of holders.values()) await holder[Symbol.asyncDispose]()
    await stop()
  })

  async function isAllowed(user: NatsUser, act: (connection: NatsConnection) => unknown): Promise<boolean> {
    const holder = holders.get(user)
    if (holder === undefined) throw new Error(`${user} is not connected`)
    return await holder.isAllowed(act)
  }

  const CALLS: Record<string, readonly NatsUser[]> = {
    'svc.identity.get-identity': ['gateway'],
    'svc.messaging.send-message': ['gateway'],
    'svc.messaging.set-mailbox': ['gateway', 'identity'],
    'svc.boards.judge-access': ['gateway', 'messaging'],
    'svc.budget.reserve': ['gateway', 'identity', 'messaging', 'boards', 'webhook'],
    'svc.gateway.anything': ['gateway'],
    'svc.stream.open': ['gateway'],
    'svc.webhook.set-webhook': ['gateway'],
    'svc.webhook.close-webhook': ['gateway', 'identity'],
    'svc.webhook.measure': ['gateway', 'admin'],
    'svc.stream.measure': ['gateway', 'admin'],
    'svc.stream.open-at.0123': ['gateway', 'stream'],
    // An operator acts under its own name only.
    'admin.anything': [],
    'admin.budget.grant-credits': [],
    'admin.budget.grant-credits.ann': [],
    'admin.budget.grant-credits.admin': ['admin'],
    'admin.budget.grant-credits.admin.ann': [],
    'accepted.agent.inbox': ['messaging'],
    '$JS.API.STREAM.CREATE.ACCEPTED': ['messaging'],
    '$JS.API.STREAM.UPDATE.ACCEPTED': ['messaging'],
    '$JS.API.STREAM.INFO.ACCEPTED': ['messaging', 'admin'],
    '$JS.API.STREAM.INFO.OTHER': [],
    // The operator must not be able to read messages of agents.
    '$JS.API.STREAM.MSG.GET.ACCEPTED': [],
    '$JS.API.DIRECT.GET.ACCEPTED': [],
    '$JS.API.STREAM.NAMES': [],
    '$JS.API.STREAM.SNAPSHOT.ACCEPTED': [],
    '$JS.API.STREAM.DELETE.ACCEPTED': [],
    '$JS.API.STREAM.PURGE.ACCEPTED': ['messaging'],
    'erase.messaging.anything': [],
    '$JS.API.STREAM.CREATE.OTHER': [],
    '$JS.API.CONSUMER.CREATE.ACCEPTED.webhook.accepted.*.inbox': ['webhook'],
    '$JS.API.CONSUMER.CREATE.ACCEPTED.webhook.accepted.>': [],
    '$JS.API.CONSUMER.CREATE.ACCEPTED.webhook.accepted.agent.requests': [],
    '$JS.API.CONSUMER.CREATE.ACCEPTED.webhook': [],
    '$JS.API.CONSUMER.DURABLE.CREATE.ACCEPTED.webhook': [],
    '$JS.API.CONSUMER.CREATE.ACCEPTED.other.accepted.>': [],
    '$JS.API.CONSUMER.CREATE.ACCEPTED': [],
    '$JS.API.CONSUMER.INFO.ACCEPTED.webhook': ['webhook'],
    '$JS.API.CONSUMER.MSG.NEXT.ACCEPTED.webhook': ['webhook'],
    '$JS.API.CONSUMER.DELETE.ACCEPTED.webhook': [],
    '$SYS.REQ.SERVER.PING': [],
    anything: [],
    '$JS.ACK.ACCEPTED.webhook.1.1.1.1.1': ['webhook'],
    '$JS.ACK.ACCEPTED.other.1.1.1.1.1': [],
    '$SRV.PING': ['admin'],
  }
  const PUBLISHES = Object.entries(CALLS).flatMap(([subject, allowed]) =>
    NATS_USERS.map((user) => ({ user, subject, allowed: allowed.includes(user) })),
  )
  test('every call of the contracts is allowed to the services that depend on its service, and to no others', async () => {
    const calls = [
      ...[admin, boards, budget, erasure, identity, messaging, stream, webhook].flatMap((contract) =>
        Object.values(contract),
      ),
      ...erasure.ERASING.map((service) => erasure.eraseAgent(service)),
      ...OWNERS.flatMap((owner) => [admin.listOperations(owner), admin.judgeOperations(owner)]),
      ...SERVICES.map((service) => healthOf(service)),
    ].filter((each): each is Call<unknown, unknown> => typeof each === 'object' && each !== null && 'subject' in each)
    expect(calls.length).toBeGreaterThan(60)
    const found = await Promise.all(
      NATS_USERS.map(async (user) => {
        const wrong: string[] = []
        for (const { subject } of calls) {
          const isOperators = subject.startsWith('admin.')
          const expected = isOperators ? user === 'admin' : (ASKED_BY[subject] ?? ['gateway']).includes(user)
          const spelled = isOperators ? `${subject}.admin` : subject
          const allowed = await isAllowed(user, (connection) => connection.publish(spelled))
          if (allowed !== expected) wrong.push(`${user} ${allowed ? 'may' : 'may not'} ask for ${subject}`)
        }
        return wrong
      }),
    )
    expect(found.flat()).toEqual([])
  })

  test('each service publishes only to the inboxes for its own answers, of those that call it', async () => {
    const found = await Promise.all(
      NATS_USERS.map(async (user) => {
        const allowed: string[] = []
        for (const subject of INBOXES)
          if (await isAllowed(user, (connection) => connection.publish(subject))) allowed.push(subject)
        return allowed
      }),
    )
    expect(found).toEqual(
      NATS_USERS.map((user) => ANSWERED[user].map((caller) => `_INBOX_${caller}.${user}.process.token`)),
    )
  })

  test.each(PUBLISHES)('$user publishes $subject: $allowed', async ({ user, subject, allowed }) => {
    expect(await isAllowed(user, (connection) => connection.publish(subject))).toBe(allowed)
  })

  const LISTENERS: Record<string, readonly NatsUser[]> = {
    'svc.gateway.>': ['gateway'],
    'svc.identity.>': ['identity'],
    'svc.messaging.>': ['messaging'],
    'svc.boards.>': ['boards'],
    'svc.budget.>': ['budget'],
    'svc.stream.>': ['stream'],
    'svc.webhook.>': ['webhook'],
    'svc.>': [],
    'admin.>': [],
    'admin.budget.>': ['budget'],
    'admin.messaging.>': ['messaging'],
    'admin.identity.>': ['identity'],
    'admin.boards.>': ['boards'],
    'admin.webhook.>': ['webhook'],
    'accepted.agent.>': ['stream'],
    '$JS.API.>': [],
    '$JS.EVENT.>': [],
    '$SYS.>': [],
    'accepted.>': ['stream'],
    '$SRV.PING': ['gateway', 'identity', 'messaging', 'boards', 'budget', 'stream', 'webhook'],
    '_INBOX.>': [],
    '>': [],
    ...Object.fromEntries(SERVICES.map((user) => [`_INBOX_${user}.>`, [user]])),
    '_INBOX_admin.>': [],
    '_INBOX_admin.*.ann.>': [],
    '_INBOX_admin.*.admin.>': ['admin'],
  }
  const SUBSCRIBES = Object.entries(LISTENERS).flatMap(([subject, allowed]) =>
    NATS_USERS.map((user) => ({ user, subject, allowed: allowed.includes(user) })),
  )
  test.each(SUBSCRIBES)('$user receives $subject: $allowed', async ({ user, subject, allowed }) => {
    const listen = (connection: NatsConnection): unknown => connection.subscribe(subject, { callback: () => {} })
    expect(await isAllowed(user, listen)).toBe(allowed)
  })
})
