import { closeWebhook, deleteWebhook, getWebhook, setWebhook } from '@svc/contracts/webhook.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, newAgent, SECRET, startHarness } from './harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

test('spec 10.1: many concurrent PUTs leave an identity with one webhook', async () => {
  const agent_id = newAgent()
  await Promise.all(Array.from({ length: 20 }, (_, at) => h.set(agent_id, `/many-${at}`)))
  expect((await h.state(agent_id)).url).toContain('/many-')
  const rows = await h.database.run((sql) => sql`select from webhook.endpoints where agent_id = ${agent_id}`)
  expect(rows.length).toBe(1)
})

describe('spec 11.2, 11.3: calls while budget is down or exhausted', () => {
  test('DELETE and the removal by a revocation work; PUT is unavailable', async () => {
    const [first, second] = [newAgent(), newAgent()]
    await h.set(first, '/x')
    await h.set(second, '/x')
    // Wait for the settlements that follow the answers. Once budget is down, only the resolver could repeat them.
    await eventually(() => h.budget.held === 0)
    await h.budget.down()
    expect(await h.codeOf(deleteWebhook, { agent_id: first })).toBe('ok')
    expect(await h.codeOf(closeWebhook, { agent_id: second })).toBe('ok')
    const webhook = { url: 'https://example.com/', secret: SECRET }
    expect(await h.codeOf(setWebhook, { agent_id: first, webhook, after: 0 })).toBe('unavailable')
    await h.budget.up()
  })

  test('PUT with an exhausted budget is refused and changes nothing', async () => {
    const agent_id = newAgent()
    const before = await h.set(agent_id, '/before')
    h.budget.refusal = 'budget_exhausted'
    expect(
      await h.codeOf(setWebhook, { agent_id, webhook: { url: 'https://example.com/', secret: SECRET }, after: 0 }),
    ).toBe('budget_exhausted')
    h.budget.refusal = undefined
    expect(await h.state(agent_id)).toEqual(before)
  })
})

describe('spec 5.11: the webhook of a revoked identity is deleted', () => {
  test('for ever: a PUT that was admitted before the revocation is refused, and costs nothing', async () => {
    const agent_id = newAgent()
    await h.set(agent_id, '/x')
    await eventually(() => h.budget.usedBy(agent_id) === 1 && h.budget.held === 0)
    await h.call(closeWebhook, { agent_id })
    await h.call(closeWebhook, { agent_id })
    expect(await h.codeOf(getWebhook, { agent_id })).toBe('not_found')
    const webhook = { url: 'https://example.com/', secret: SECRET }
    expect(await h.codeOf(setWebhook, { agent_id, webhook, after: 0 })).toBe('signer_revoked')
    expect(h.budget.usedBy(agent_id)).toBe(1)
    expect(await h.codeOf(getWebhook, { agent_id })).toBe('not_found')
  })

  test('an agent that never had a webhook cannot set one either', async () => {
    const agent_id = newAgent()
    await h.call(closeWebhook, { agent_id })
    const webhook = { url: 'https://example.com/', secret: SECRET }
    expect(await h.codeOf(setWebhook, { agent_id, webhook, after: 0 })).toBe('signer_revoked')
  })
})

describe('secrets at rest', () => {
  test('the database does not contain the secret', async () => {
    const agent_id = newAgent()
    await h.set(agent_id, '/x')
    const [row] = await h.database.run(
      (sql) => sql<{ sealed: Buffer; text: string }[]>`
        select e.sealed, e::text as text from webhook.endpoints e where agent_id = ${agent_id}`,
    )
    expect(row?.sealed.includes(SECRET.slice(0, 8))).toBe(false)
    expect(row?.text).not.toContain(Buffer.from(SECRET.slice(0, 8)).toString('hex'))
  })

  test('a new key in front seals every secret again, and deliveries continue', async () => {
    const [old, next] = ['o'.repeat(32), 'n'.repeat(32)]
    await using one = await startHarness({ replicas: 0, config: { secretKeys: [old] } })
    const keyIds = async (): Promise<string[]> =>
      (await one.database.run((sql) => sql<{ key_id: string }[]>`select distinct key_id from webhook.endpoints`)).map(
        ({ key_id }) => key_id,
      )
    const agents = Array.from({ length: 5 }, newAgent)
    const before = await one.start()
    for (const agent of agents) await one.set(agent, '/hook')
    const [first] = await keyIds()
    await before[Symbol.asyncDispose]()
    const both = await one.start({ secretKeys: [next, old] })
    await eventually(async () => !(await keyIds()).includes(first ?? ''))
    await both[Symbol.asyncDispose]()
    await one.start({ secretKeys: [next] })
    for (const agent of agents) await one.accept(agent, 1)
    await eventually(() => one.receiver.received.length === agents.length)
  })

  test('a secret that cannot be decrypted delays no other: it is counted, logged, and left as it is', async () => {
    const [old, next] = ['o'.repeat(32), 'n'.repeat(32)]
    await using one = await startHarness({ replicas: 0, config: { secretKeys: [old] } })
    const before = await one.start()
    const [spoilt, sound] = [newAgent(), newAgent()]
    for (const agent of [spoilt, sound]) await one.set(agent, '/hook')
    await before[Symbol.asyncDispose]()
    await one.database.run((sql) => sql`update webhook.endpoints set sealed = 'x' where agent_id = ${spoilt}`)
    // More endpoints than one pass reads, sorted before all others.
    await one.database.run(
      (sql) => sql`
        insert into webhook.endpoints (agent_id, configuration, url, key_id, sealed)
        select 'lost-' || n, gen_random_uuid(), 'https://x/', '', 'x' from generate_series(1, 150) n`,
    )
    const sealedWith = async (agent: string): Promise<unknown> =>
      (await one.database.run((sql) => sql`select key_id, sealed from webhook.endpoints where agent_id = ${agent}`))[0]
    const asItWas = await Promise.all([spoilt, 'lost-1'].map(sealedWith))
    const both = await one.spawn({ SVC_WEBHOOK_SECRET_KEY: `${next},${old}` })
    const said = (message: string) => both.log.filter((event) => event.message === message)
    await eventually(() => said('webhook secrets could not be decrypted').length === 1)
    expect(said('webhook secrets could not be decrypted')[0]?.fields.secrets).toBe(151)
    expect(said('secrets sealed with the present key')[0]?.fields.secrets).toBe(1)
    expect(await Promise.all([spoilt, 'lost-1'].map(sealedWith))).toEqual(asItWas)
    await both.stop()
    await one.start({ secretKeys: [next] })
    await one.accept(sound, 1)
    await eventually(() => one.receiver.received.length === 1)
  })
})
