import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { holdMessage } from '../src/handlers/hold-message.ts'
import { retryJobs } from '../src/handlers/inspect-jobs.ts'
import { type Harness, newAgent, startHarness } from './harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness({ config: { backoff: [0, 3_600] } })
})
afterAll(() => h[Symbol.asyncDispose]())

const why = { reason: 'a threat', reference: 'INC-17' }
const olivia = { operator: 'olivia' }

function change(agent_id: string, message_id: string, held: boolean) {
  const deps = { database: h.database, wake: () => {} }
  return holdMessage(deps, { agent_id, message_id, ...why }, olivia, held)
}

function retry(message_id: string) {
  const request = { agent_id: null, message_id, limit: 10, dry_run: false, ...{ reason: why.reason } }
  return retryJobs({ database: h.database, wake: () => {} }, request, olivia)
}

const attemptsOf = (path: string, id: string) =>
  h.receiver.at(path).filter(({ headers }) => headers['x-svc-message-id'] === id).length

/** Delivers another message to the agent, so that everything that is due before it is over. */
async function pass(agent: string, path: string, cursor: number): Promise<void> {
  const messageId = `pass-${path.slice(1)}-${cursor}`
  await h.accept(agent, cursor, { messageId })
  await eventually(() => attemptsOf(path, messageId) > 0)
}

describe('spec 12.4: a delivery of a message that is taken down', () => {
  test('that waits for its next attempt is held, and due again when it is released', async () => {
    const [agent, path, id] = [newAgent(), '/waits', 'msg-waits']
    h.receiver.answer(path, 500)
    await h.set(agent, path)
    await h.accept(agent, 1, { messageId: id })
    await eventually(() => attemptsOf(path, id) === 1)
    await eventually(async () => {
      const [job] = await h.database.run((sql) => sql`select lease from webhook.jobs where message_id = ${id}`)
      expect(job?.lease).toBe(null)
    })
    expect(await change(agent, id, true)).toEqual({ changed: true })
    expect(await change(agent, id, true)).toEqual({ changed: false })
    expect(await h.state(agent)).toMatchObject({ pending: 0, failed: 0 })
    expect(await retry(id)).toMatchObject({ jobs: 0 })
    h.receiver.answer(path, 204)
    await pass(agent, path, 2)
    expect(attemptsOf(path, id)).toBe(1)
    expect(await change(agent, id, false)).toEqual({ changed: true })
    expect(await change(agent, id, false)).toEqual({ changed: false })
    await eventually(() => attemptsOf(path, id) === 2)
    const rows = await h.database.run(
      (sql) =>
        sql`select operator, action, reference, reason, result from webhook.audit where target = ${id} order by id`,
    )
    const row = { ...olivia, ...why, result: { kind: 'delivery' } }
    expect(rows).toEqual([
      { ...row, action: 'takedown' },
      { ...row, action: 'restore' },
    ])
  })

  test('whose event comes later, or again, is not made until it is released', async () => {
    const [agent, path, id] = [newAgent(), '/later', 'msg-later']
    await h.set(agent, path)
    await change(agent, id, true)
    for (let time = 0; time < 2; time += 1) await h.accept(agent, 1, { messageId: id })
    await pass(agent, path, 2)
    expect(attemptsOf(path, id)).toBe(0)
    // The earlier event has filled in the text, so the release alone starts the delivery.
    expect(await change(agent, id, false)).toEqual({ changed: true })
    await eventually(() => attemptsOf(path, id) === 1)
    // If the release comes before the event, the later event makes the delivery.
    const late = `${id}-after`
    await change(agent, late, true)
    expect(await change(agent, late, false)).toEqual({ changed: true })
    await h.accept(agent, 3, { messageId: late })
    await eventually(() => attemptsOf(path, late) === 1)
  })

  test('that has failed cannot be retried until it is released, and stays failed then', async () => {
    const [agent, path, id] = [newAgent(), '/fails', 'msg-fails']
    h.receiver.answer(path, 500)
    await h.set(agent, path)
    await h.accept(agent, 1, { messageId: id })
    await eventually(() => attemptsOf(path, id) === 1)
    await h.database.run(
      (sql) => sql`
        update webhook.jobs set due_at = null, lease = null, ended_at = clock_timestamp() where message_id = ${id}`,
    )
    expect(await change(agent, id, true)).toEqual({ changed: true })
    expect(await retry(id)).toMatchObject({ jobs: 0 })
    expect(await change(agent, id, false)).toEqual({ changed: true })
    expect(await h.state(agent)).toMatchObject({ pending: 0 })
    h.receiver.answer(path, 204)
    expect(await retry(id)).toMatchObject({ jobs: 1 })
    await eventually(() => attemptsOf(path, id) === 2)
  })

  test('that was claimed but has not begun is not made; one that was delivered is not made again', async () => {
    const [agent, path, id] = [newAgent(), '/claimed', 'msg-claimed']
    await h.set(agent, path)
    await pass(agent, path, 1)
    await eventually(async () => expect(await h.state(agent)).toMatchObject({ pending: 0 }))
    for (const held of [true, false]) {
      expect(await change(agent, `pass-claimed-1`, held)).toEqual({ changed: false })
    }
    const lease = '00000000-0000-4000-8000-000000000000'
    await h.database.run(
      (sql) => sql`
        insert into webhook.jobs (configuration, message_id, agent_id, body, expires_at, accepted_ms, due_at, lease)
        select e.configuration, ${id}, e.agent_id, '{}', 99999999999, 0, clock_timestamp() + interval '1 hour', ${lease}
        from webhook.endpoints e where e.agent_id = ${agent}`,
    )
    await change(agent, id, true)
    const begun = await h.database.run(
      (sql) => sql`
        select b.lease from webhook.endpoints e
        cross join lateral webhook.begin_attempts(array[e.configuration], array[${id}::text], array[${lease}::uuid], 15) b
        where e.agent_id = ${agent}`,
    )
    expect(begun).toEqual([])
  })

  test('of an agent without a webhook: nothing changes', async () => {
    const agent = newAgent()
    for (const held of [true, false]) expect(await change(agent, 'msg-none', held)).toEqual({ changed: false })
    await h.set(agent, '/none')
    await h.accept(agent, 1, { messageId: 'msg-none' })
    await eventually(() => attemptsOf('/none', 'msg-none') === 1)
  })
})
