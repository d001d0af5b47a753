import { createHmac } from 'node:crypto'
import type { WebhookJobs } from '@svc/contracts/admin.ts'
import type { Suspension } from '@svc/contracts/suspension.ts'
import { deleteWebhook, setSuspension, setWebhook } from '@svc/contracts/webhook.ts'
import type { Resolve } from '@svc/outbound/resolve.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inspectJobs } from '../src/handlers/inspect-jobs.ts'
import { oldestDueSeconds } from '../src/store/endpoints.ts'
import { retryFailed } from '../src/store/job-inspection.ts'
import { type ClaimedJob, createBegin } from '../src/store/jobs.ts'
import { type Harness, newAgent, SECRET, startHarness } from './harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

/** Waits for this many requests, and then for the end of every job, so that another request can no longer come. */
async function untilSettled(agent: string, path: string, requests: number): Promise<void> {
  await eventually(() => h.receiver.at(path).length >= requests)
  await eventually(async () => (await h.state(agent)).pending === 0)
}

describe('spec 10.4, 10.5: a delivery', () => {
  test('is the exact text of the envelope, with the headers of the specification', async () => {
    const agent = newAgent()
    await h.set(agent, '/exact')
    const envelope = await h.accept(agent, 1, { messageId: 'msg-exact' })
    await eventually(() => h.receiver.at('/exact').length === 1)
    const [request] = h.receiver.at('/exact')
    expect(request?.body.toString('utf8')).toBe(envelope)
    expect(request?.method).toBe('POST')
    const headers = request?.headers ?? {}
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-svc-message-id': 'msg-exact' })
    expect(headers['x-svc-delivery-id']).toMatch(/^[0-9a-f]{32}$/)
    const timestamp = String(headers['x-svc-timestamp'])
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(30)
    const hmac = createHmac('sha256', SECRET).update(`${timestamp}.msg-exact.`).update(envelope).digest('hex')
    expect(headers['x-svc-signature']).toBe(`sha256=${hmac}`)
    await eventually(async () => (await h.state(agent)).pending === 0)
  })

  test('any JSON body arrives unchanged: quotes, braces, backslashes, U+0000, numbers in every spelling', async () => {
    const agent = newAgent()
    await h.set(agent, '/hostile')
    const envelope = '{"id":"msg-hostile","body":{"a":"{\\"}\\\\,NULL,\'\\u0000","b":[1.0,1E+2,-0],"ü":"😀"}}'
    await h.accept(agent, 1, { messageId: 'msg-hostile', envelope })
    await eventually(() => h.receiver.at('/hostile').length === 1)
    expect(h.receiver.at('/hostile')[0]?.body.toString('utf8')).toBe(envelope)
  })

  test('ADR 20: an event that is repeated, at once or later, makes no second job', async () => {
    const agent = newAgent()
    await h.set(agent, '/again')
    const event = { agentId: agent, cursor: 1, messageId: 'msg-again' }
    await h.acceptAll([event])
    await eventually(() => h.receiver.at('/again').length === 1)
    await h.nats.restart({ wipe: true })
    await h.acceptAll([event, { agentId: agent, cursor: 2, messageId: 'msg-other' }])
    await untilSettled(agent, '/again', 2)
    expect(h.receiver.at('/again').map(({ headers }) => headers['x-svc-message-id'])).toEqual([
      'msg-again',
      'msg-other',
    ])
    // Each caller reconnects by itself, at its own time. Calls that are sent before are lost.
    await eventually(() => h.set(agent, '/again', 2))
  }, 60_000)

  test('an expired message is not delivered', async () => {
    const agent = newAgent()
    await h.set(agent, '/expired')
    await h.accept(agent, 1, { messageId: 'msg-expired', expiresAt: 1 })
    await h.accept(agent, 2, { messageId: 'msg-live' })
    await untilSettled(agent, '/expired', 1)
    expect(h.receiver.at('/expired').map(({ headers }) => headers['x-svc-message-id'])).toEqual(['msg-live'])
  })
})

describe('spec 10.7: attempts', () => {
  test.each([
    ['a status of failure', 500],
    ['a redirect, which is not followed', 302],
    ['304', 304],
    ['404', 404],
  ])('%s: the job is tried five times, with one delivery id, and then has failed', async (_, status) => {
    const agent = newAgent()
    const path = `/status-${status}`
    h.receiver.answer(path, (_request, response) => {
      response.writeHead(status, { location: h.receiver.urlFor('/elsewhere') }).end()
    })
    await h.set(agent, path)
    await h.accept(agent, 1)
    await eventually(async () => (await h.state(agent)).failed === 1)
    expect(await h.state(agent)).toMatchObject({ pending: 0, failed: 1 })
    expect(h.receiver.at(path)).toHaveLength(5)
    expect(new Set(h.receiver.at(path).map(({ headers }) => headers['x-svc-delivery-id'])).size).toBe(1)
    expect(h.receiver.at('/elsewhere')).toHaveLength(0)
    const words =
      status >= 300 && status < 400 ? `redirect: status ${status}, which is not followed` : `status ${status}`
    expect(await inspected(agent)).toMatchObject({ last_error: words, last_error_at: expect.any(Number) })
    // A new configuration begins without it.
    await h.set(agent, '/fresh')
    expect(await inspected(agent)).toMatchObject({ last_error: null, last_error_at: null })
  })

  test('a job whose endpoint fails and then succeeds is neither pending nor failed', async () => {
    const agent = newAgent()
    h.receiver.answer('/third', (_request, response) => {
      response.writeHead(h.receiver.at('/third').length < 3 ? 503 : 200).end()
    })
    await h.set(agent, '/third')
    await h.accept(agent, 1)
    await eventually(() => h.receiver.at('/third').length === 3)
    await eventually(async () => (await h.state(agent)).pending === 0)
    expect(await h.state(agent)).toMatchObject({ pending: 0, failed: 0 })
  })

  test('a job that waits for its next attempt is pending', async () => {
    await using one = await startHarness({ config: { backoff: [0, 3_600, 3_600, 3_600, 3_600] } })
    const agent = newAgent()
    one.receiver.answer('/later', 500)
    await one.set(agent, '/later')
    await one.accept(agent, 1)
    await one.accept(agent, 2)
    await eventually(async () => {
      const [row] = await one.database.run(
        (sql) => sql<{ tried: number }[]>`
          select count(*) as tried from webhook.jobs where attempts = 1 and lease is null and due_at > now() + interval '2000 s'`,
      )
      return row?.tried === 2
    })
    expect(await one.state(agent)).toMatchObject({ pending: 2, failed: 0 })
    expect(one.receiver.at('/later')).toHaveLength(2)
  })

  test('spec 10.4: a message that expires between two attempts is not tried again', async () => {
    await using one = await startHarness({ replicas: 1, config: { backoff: [0, 3_600, 3_600, 3_600, 3_600] } })
    const agent = newAgent()
    one.receiver.answer('/too-late', 500)
    await one.set(agent, '/too-late')
    await one.accept(agent, 1)
    await eventually(async () => (await attemptsOf(one, agent)) === 1)
    // Moves both times instead of waiting: the next attempt is due, and the message has expired.
    await one.database.run(
      (sql) => sql`update webhook.jobs set expires_at = 1, due_at = now() where agent_id = ${agent}`,
    )
    await one.database.run((sql) => sql`update webhook.endpoints set due_at = now() where agent_id = ${agent}`)
    await eventually(async () => (await one.state(agent)).failed === 1)
    expect(one.receiver.at('/too-late')).toHaveLength(1)
  })
})

describe('spec 10.1: changing or deleting a webhook cancels pending deliveries', () => {
  test.each(['changed', 'deleted', 'set again as it was'])('%s: nothing old is sent any more', async (how) => {
    await using one = await startHarness({ config: { backoff: [0, 1, 1, 1, 1] } })
    const agent = newAgent()
    one.receiver.answer('/old', 500)
    await one.set(agent, '/old')
    await one.acceptAll(Array.from({ length: 10 }, (_, at) => ({ agentId: agent, cursor: at + 1 })))
    await eventually(() => one.receiver.at('/old').length >= 2)
    if (how === 'deleted') await one.call(deleteWebhook, { agent_id: agent })
    else await one.set(agent, how === 'changed' ? '/new' : '/old', 10)
    // A request that was under way cannot be recalled.
    await eventually(() => one.receiver.inFlight('/old') === 0)
    const sent = one.receiver.at('/old').length
    if (how === 'deleted') await one.set(agent, '/new', 10)
    one.receiver.answer('/old', 204)
    await one.accept(agent, 11, { messageId: 'msg-after' })
    await eventually(() => one.receiver.received.some(({ headers }) => headers['x-svc-message-id'] === 'msg-after'))
    await eventually(async () => (await countJobs(one)) === 1)
    // The outcome of an attempt is recorded after its request.
    await eventually(async () => (await one.state(agent)).pending === 0)
    expect(await one.state(agent)).toMatchObject({ pending: 0, failed: 0 })
    const after = [...one.receiver.at('/old').slice(sent), ...one.receiver.at('/new')]
    // A delivery that had passed its last check when the change was answered may still arrive.
    expect(after.filter(({ path }) => path === '/new').map(({ headers }) => headers['x-svc-message-id'])).toEqual(
      how === 'set again as it was' ? [] : ['msg-after'],
    )
  })

  test('old messages are never sent to a new configuration, even if they were not jobs yet', async () => {
    const agent = newAgent()
    await h.set(agent, '/boundary', 5)
    await h.acceptAll(
      Array.from({ length: 10 }, (_, at) => ({ agentId: agent, cursor: at + 1, messageId: `msg-cursor-${at + 1}` })),
    )
    await untilSettled(agent, '/boundary', 5)
    expect(
      h.receiver
        .at('/boundary')
        .map(({ headers }) => headers['x-svc-message-id'])
        .toSorted(),
    ).toEqual([6, 7, 8, 9, 10].map((cursor) => `msg-cursor-${cursor}`).toSorted())
  })

  test('every PUT resets the counts', async () => {
    const agent = newAgent()
    h.receiver.answer('/counts', 500)
    await h.set(agent, '/counts')
    await h.accept(agent, 1)
    await eventually(async () => (await h.state(agent)).failed === 1)
    expect(await h.set(agent, '/counts', 1)).toMatchObject({ pending: 0, failed: 0 })
    expect(await h.state(agent)).toMatchObject({ pending: 0, failed: 0 })
  })
})

/** What `svc admin jobs` shows of the agent's webhook. */
async function inspected(agentId: string): Promise<WebhookJobs | undefined> {
  const page = await inspectJobs({ database: h.database }, { agent_id: agentId, after: '', limit: 1 })
  return page.webhooks[0]
}

describe('a failed delivery says why', () => {
  const HIDDEN = 'hidden-from-the-operator'

  test('in the log at level warn: host, reason and attempt, and nothing of the path, the secret or the answer', async () => {
    await using one = await startHarness({ replicas: 0 })
    const service = await one.spawn()
    const agent = newAgent()
    one.receiver.answer(`/${HIDDEN}?${HIDDEN}`, (_request, response) => {
      response.writeHead(302, { location: `https://${HIDDEN}.test/`, 'x-hidden': HIDDEN }).end(HIDDEN)
    })
    const webhook = { url: one.receiver.urlFor(`/${HIDDEN}?${HIDDEN}`), secret: HIDDEN.padEnd(32, 'x') }
    await one.call(setWebhook, { agent_id: agent, webhook, after: 0 })
    await one.acceptAll([1, 2, 3].map((cursor) => ({ agentId: agent, cursor })))
    await eventually(async () => (await one.state(agent)).failed === 3)
    const said = service.log.filter(({ message }) => message === 'a webhook delivery failed')
    // Three jobs fail five times for one reason: a line for each attempt.
    expect(said.map(({ fields: { attempt } }) => attempt).toSorted()).toEqual([1, 2, 3, 4, 5])
    expect(said[0]).toMatchObject({
      level: 40,
      fields: { host: '127.0.0.1', reason: 'redirect: status 302, which is not followed', attempts: 5 },
    })
    expect(JSON.stringify(service.log)).not.toContain(HIDDEN)
  })

  test.each<[string, string, Resolve]>([
    ['a name that does not exist', 'dns: the name does not exist (ENOTFOUND)', failing('ENOTFOUND')],
    ['name servers that do not answer', 'dns: the name servers do not answer (ETIMEOUT)', failing('ETIMEOUT')],
    ['a name without addresses', 'dns: the name has no address', async () => []],
    [
      'an address that is not public',
      'not public: the name has an address that is',
      async () => ['8.8.8.8', '10.0.0.7'],
    ],
  ])('to the operator: %s', async (_, words, resolve) => {
    await using one = await startHarness({ replicas: 1, resolve })
    const agent_id = newAgent()
    const webhook = { url: 'https://hook.example/', secret: SECRET }
    await one.call(setWebhook, { agent_id, webhook, after: 0 })
    await one.accept(agent_id, 1)
    await eventually(async () => (await one.state(agent_id)).failed === 1)
    const { webhooks } = await inspectJobs({ database: one.database }, { agent_id, after: '', limit: 1 })
    expect(webhooks[0]?.last_error).toContain(words)
  })

  test('an expired message leaves the reason of the attempt before it, and is a reason only without one', async () => {
    const agent = newAgent()
    h.receiver.answer('/expires', 500)
    await h.set(agent, '/expires')
    await h.accept(agent, 1, { expiresAt: Math.floor(Date.now() / 1000) + 3_600 })
    await eventually(async () => (await h.state(agent)).failed === 1)
    await h.database.run(
      (sql) => sql`
        update webhook.jobs set expires_at = 1, ended_at = null, due_at = now() where agent_id = ${agent}`,
    )
    await h.database.run((sql) => sql`update webhook.endpoints set due_at = now() where agent_id = ${agent}`)
    await eventually(async () => (await h.state(agent)).failed === 2)
    expect((await inspected(agent))?.last_error).toBe('status 500')
  })

  test('a URL that this release would refuse fails like any attempt, and does not come again for ever', async () => {
    const agent = newAgent()
    await h.set(agent, '/refused')
    await h.database.run((sql) => sql`update webhook.endpoints set url = 'https://10.0.0.1/' where agent_id = ${agent}`)
    await h.accept(agent, 1)
    await eventually(async () => (await h.state(agent)).failed === 1)
    expect((await inspected(agent))?.last_error).toBe('url: a webhook URL must have a public address')
  })
})

function failing(code: string): Resolve {
  return () => Promise.reject(Object.assign(new Error(code), { code }))
}

describe('endpoints do not slow each other down', () => {
  test('an endpoint has at most 2 requests under way over all processes, whatever the number of waiting jobs', async () => {
    await using one = await startHarness({ replicas: 3 })
    const agent = newAgent()
    const waiting: (() => void)[] = []
    one.receiver.answer('/two', (_request, response) => void waiting.push(() => response.writeHead(204).end()))
    await one.set(agent, '/two')
    await one.acceptAll(Array.from({ length: 30 }, (_, at) => ({ agentId: agent, cursor: at + 1 })))
    // Nothing is answered, so a third request would come too.
    await eventually(() => waiting.length >= 2)
    one.receiver.answer('/two', 204)
    for (const respond of waiting) respond()
    await eventually(async () => (await one.state(agent)).pending === 0)
    expect(one.receiver.maxInFlight('/two')).toBe(2)
    expect(one.receiver.at('/two')).toHaveLength(30)
  }, 60_000)

  test('an endpoint that hangs with 10,000 jobs holds two requests, and delays no other', async () => {
    await using one = await startHarness({ replicas: 2 })
    const [hanging, ...others] = Array.from({ length: 11 }, newAgent)
    if (hanging === undefined) throw new Error('the test has no hanging endpoint')
    one.receiver.answer('/hanging', () => {})
    await one.set(hanging, '/hanging')
    await one.acceptAll(Array.from({ length: 10_000 }, (_, at) => ({ agentId: hanging, cursor: at + 1 })))
    await eventually(async () => (await one.state(hanging)).pending === 10_000, { timeoutMs: 60_000 })
    await eventually(() => one.receiver.inFlight('/hanging') === 2)
    for (const agent of others) await one.set(agent, '/others')
    await one.acceptAll(
      others.flatMap((agentId) => Array.from({ length: 10 }, (_, at) => ({ agentId, cursor: at + 1 }))),
    )
    await eventually(() => one.receiver.at('/others').length === 100)
    // No delivery waited for the hanging ones, which still hang.
    expect(one.receiver.maxInFlight('/hanging')).toBe(2)
  }, 120_000)

  test('many hanging endpoints of one host hold a part of each process, and delay no other host', async () => {
    await using one = await startHarness({
      replicas: 0,
      config: { concurrency: 32, attemptSeconds: 4, backoff: [0, 60, 60, 60, 60] },
    })
    const other = `https://localhost:${one.receiver.port}`
    one.receiver.answer('/hangs', () => {})
    const exemptTargets = new Set([one.receiver.host, new URL(other).host])
    for (const _ of [1, 2]) await one.start({ exemptTargets })
    const [hanging, others] = [Array.from({ length: 40 }, newAgent), Array.from({ length: 10 }, newAgent)]
    for (const agent of hanging) await one.set(agent, '/hangs')
    for (const agent_id of others) {
      await one.call(setWebhook, { agent_id, webhook: { url: `${other}/goes`, secret: SECRET }, after: 0 })
    }
    const accept = (agents: readonly string[]): Promise<void> =>
      one.acceptAll(agents.flatMap((agentId) => [1, 2].map((cursor) => ({ agentId, cursor }))))
    await accept(hanging)
    await eventually(() => one.receiver.inFlight('/hangs') >= 4)
    await accept(others)
    await eventually(() => one.receiver.at('/goes').length === 20)
    // Each process uses an eighth of its 32 requests for the host, which makes 8 in all. Claims may exceed this share,
    // but by less than another 8.
    expect(one.receiver.maxInFlight('/hangs')).toBeLessThan(2 * 8)
  }, 60_000)

  test('many hanging endpoints leave room on their host for a new endpoint and for any number of proven endpoints', async () => {
    await using one = await startHarness({
      replicas: 0,
      config: { concurrency: 256, attemptSeconds: 60, leaseSeconds: 65, backoff: [0, 60, 60, 60, 60] },
    })
    await one.start()
    const held: (() => void)[] = []
    let isHanging = true
    one.receiver.answer('/hangs', (_request, response) => {
      const end = (): void => void response.writeHead(204).end()
      if (isHanging) held.push(end)
      else end()
    })
    const [proven, fresh] = [newAgent(), newAgent()]
    await one.set(proven, '/proven')
    await one.accept(proven, 1)
    await eventually(async () => (await one.state(proven)).pending === 0)
    await one.set(fresh, '/fresh')

    const hang = async (count: number): Promise<void> => {
      const before = one.receiver.inFlight('/hangs')
      const agents = Array.from({ length: count }, newAgent)
      for (const agent of agents) await one.set(agent, '/hangs')
      // Second jobs only after every endpoint has a request: a second job could take the place of a first one.
      await one.acceptAll(agents.map((agentId) => ({ agentId, cursor: 1 })))
      await eventually(() => one.receiver.inFlight('/hangs') >= Math.min(before + count, 32))
      await one.acceptAll(agents.map((agentId) => ({ agentId, cursor: 2 })))
    }
    const tenTo = (agentId: string): Promise<void> =>
      one.acceptAll(Array.from({ length: 10 }, (_, at) => ({ agentId, cursor: at + 2 })))
    await hang(30)
    await tenTo(fresh)
    await eventually(() => one.receiver.at('/fresh').length === 10)
    await hang(10)
    await tenTo(proven)
    await eventually(() => one.receiver.at('/proven').length === 11)
    // No delivery waited for those that hang.
    expect(held).toHaveLength(32)
    isHanging = false
    for (const end of held) end()
  }, 60_000)

  test('an endpoint that is slow, or fails, is struggling until five quick deliveries in a row', async () => {
    await using one = await startHarness({ replicas: 1 })
    const agent = newAgent()
    // More than 3 s of an attempt's 10 s count as slow.
    const delays = [3_200, 0, 0, 3_200, 0, 0, 0, 0, 0]
    one.receiver.answer('/proves', (_request, response) => {
      setTimeout(() => response.writeHead(204).end(), delays[one.receiver.at('/proves').length - 1])
    })
    await one.set(agent, '/proves')
    const struggling: unknown[] = []
    for (const [at] of delays.entries()) {
      await one.accept(agent, at + 1)
      await eventually(() => one.receiver.at('/proves').length === at + 1)
      await eventually(async () => (await one.state(agent)).pending === 0)
      const [row] = await one.database.run((sql) => sql`select struggling from webhook.endpoints`)
      struggling.push(row?.struggling)
    }
    expect(struggling).toEqual([true, true, true, true, true, true, true, true, false])
  }, 60_000)
})

test('spec 10.5: the key of the signature is the UTF-8 bytes of the secret', async () => {
  const agent = newAgent()
  const secret = `😀\u0000${'ü'.repeat(31)}`
  await h.call(setWebhook, { agent_id: agent, webhook: { url: h.receiver.urlFor('/utf8'), secret }, after: 0 })
  const envelope = await h.accept(agent, 1, { messageId: 'msg-utf8' })
  await eventually(() => h.receiver.at('/utf8').length === 1)
  const headers = h.receiver.at('/utf8')[0]?.headers ?? {}
  const signed = `${headers['x-svc-timestamp']}.msg-utf8.${envelope}`
  const hmac = createHmac('sha256', Buffer.from(secret, 'utf8')).update(signed).digest('hex')
  expect(headers['x-svc-signature']).toBe(`sha256=${hmac}`)
})

/** The number of ended attempts of the agent's only job. */
async function attemptsOf(one: Harness, agentId: string): Promise<number | undefined> {
  const [row] = await one.database.run(
    (sql) => sql<{ attempts: number }[]>`
      select attempts from webhook.jobs where agent_id = ${agentId} and lease is null`,
  )
  return row?.attempts
}

async function countJobs(one: Harness): Promise<number> {
  const [row] = await one.database.run((sql) => sql<{ jobs: number }[]>`select count(*) as jobs from webhook.jobs`)
  return row?.jobs ?? 0
}

describe('spec 12.4: the webhook of a suspended agent', () => {
  const pause = (agent_id: string, version: number, suspension: Suspension | null) =>
    h.call(setSuspension, { agent_id, suspension, version })

  test('rests: jobs are made and wait, none is tried or counted as due, and all are delivered after it is resumed', async () => {
    const agent = newAgent()
    await pause(agent, 1, { until: null }) // before it has an endpoint
    await h.set(agent, '/paused')
    const working = newAgent()
    await h.set(working, '/working')
    await h.acceptAll([1, 2, 3].map((cursor) => ({ agentId: agent, cursor, messageId: `msg-paused-${cursor}` })))
    await h.accept(working, 1)
    await untilSettled(working, '/working', 1)
    await eventually(async () => expect(await h.state(agent)).toMatchObject({ pending: 3, failed: 0 }))
    expect(await inspected(agent)).toMatchObject({ pending: 3, due: 0, oldest_due_seconds: 0 })
    expect(await h.database.run(oldestDueSeconds)).toBe(0)
    expect(h.receiver.at('/paused')).toHaveLength(0)

    await pause(agent, 2, null)
    await untilSettled(agent, '/paused', 3)
    expect(await h.state(agent)).toMatchObject({ pending: 0, failed: 0 })
    await pause(agent, 1, { until: null }) // a late push changes nothing
    await h.accept(agent, 4)
    await untilSettled(agent, '/paused', 4)
  })

  test('goes on by itself when the end that was set has passed', async () => {
    const agent = newAgent()
    await h.set(agent, '/until')
    const until = Math.floor(Date.now() / 1_000) + 3
    await pause(agent, 1, { until })
    await h.accept(agent, 1)
    await untilSettled(agent, '/until', 1)
    expect(Date.now() / 1_000).toBeGreaterThanOrEqual(until)
  })

  test('an attempt that has not begun does not begin, and its job keeps all its attempts', async () => {
    const agent = newAgent()
    await h.set(agent, '/claimed')
    await pause(agent, 1, { until: null })
    await h.accept(agent, 1)
    await eventually(async () => expect(await h.state(agent)).toMatchObject({ pending: 1 }))
    // As if a worker had claimed the job right before the pause.
    const [job] = await h.database.run(
      (sql) => sql<{ configuration: string; message_id: string; lease: string }[]>`
        update webhook.jobs j set lease = gen_random_uuid(), due_at = now() + interval '1 hour' where j.agent_id = ${agent}
        returning j.configuration, j.message_id, j.lease`,
    )
    if (job === undefined) throw new Error('there is no job')
    const begin = createBegin(h.database, 60)
    const claimed = { configuration: job.configuration, messageId: job.message_id, lease: job.lease } as ClaimedJob
    expect(await begin(claimed)).toBe(false)
    await pause(agent, 2, null)
    expect(await begin(claimed)).toBe(true)
    await h.database.run((sql) => sql`update webhook.jobs set due_at = now() where agent_id = ${agent}`)
    await pause(agent, 3, null)
    await untilSettled(agent, '/claimed', 1)
  })

  test('a retry by the operator waits for the end of the suspension, too', async () => {
    const agent = newAgent()
    h.receiver.answer('/retried', 500)
    await h.set(agent, '/retried')
    await h.accept(agent, 1)
    await eventually(async () => expect(await h.state(agent)).toMatchObject({ failed: 1 }))
    h.receiver.answer('/retried', 204)
    await pause(agent, 1, { until: null })
    const which = { agentId: agent, messageId: null, limit: 10, dryRun: false }
    expect(await h.database.run((sql) => retryFailed(sql, which))).toBe(1)
    const [endpoint] = await h.database.run(
      (sql) => sql<{ rests: boolean }[]>`
        select e.due_at = 'infinity' as rests from webhook.endpoints e where e.agent_id = ${agent}`,
    )
    expect(endpoint).toEqual({ rests: true })
    await pause(agent, 2, null)
    await untilSettled(agent, '/retried', 6)
  })
})
