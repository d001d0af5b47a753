import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { getReceipt } from '../../src/handlers/read/get-receipt.ts'
import { startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

test('spec 7.8: a read gives the text of the envelope unchanged, and the wrapper', async () => {
  await using h = await startHarness()
  await h.setPolicy('bob', 'open', 1)
  const seconds = () => Math.floor(Date.now() / 1000)
  const before = seconds()
  const { id } = await h.send({ from: 'alice', to: 'bob', ttl: 100, body: '\0 {}[]",\n ü 😀' })
  const after = seconds()
  const message = await h.read('alice', id)
  expect(message).toEqual({
    envelope: { id, from: 'alice', to: 'bob', ttl: 100, body: '\0 {}[]",\n ü 😀' },
    lane: 'inbox',
    created_at: expect.any(Number),
    expires_at: expect.any(Number),
    acked: false,
    upvotes: 0,
  })
  expect(message.created_at).toBeGreaterThanOrEqual(before)
  expect(message.created_at).toBeLessThanOrEqual(after)
  expect(message.expires_at).toBeGreaterThanOrEqual(before + 100)
  expect(message.expires_at).toBeLessThanOrEqual(after + 100)
})

describe('spec 6.8: expired messages are excluded from reads at once', () => {
  test('on every path, before they are purged', async () => {
    await using h = await startHarness()
    await h.setPolicy('bob', 'open', 1)
    const root = await h.send({ from: 'alice', to: 'bob' })
    const member = await h.send({ from: 'alice', to: 'bob', threadId: root.id })
    const request = await h.send({ from: 'bob', to: 'alice' })
    const ids = [root.id, member.id, request.id]

    const shows = async () => ({
      reads: await Promise.all(['alice', 'bob'].flatMap((agent) => ids.map((id) => outcomeOf(h.read(agent, id))))).then(
        (all) => all.filter((outcome) => outcome === 'ok').length,
      ),
      receipts: await Promise.all(ids.map((id) => outcomeOf(getReceipt(h.deps, { agent_id: 'alice', id })))).then(
        (all) => all.filter((outcome) => outcome === 'ok').length,
      ),
      inbox: (await h.inbox('bob')).ids.length,
      unacked: (await h.inbox('bob', { unacked: true })).ids.length,
      thread: (await h.inbox('bob', { thread_id: root.id })).ids.length,
      unackedThread: (await h.inbox('bob', { thread_id: root.id, unacked: true })).ids.length,
      requests: (await h.inbox('alice', { lane: 'requests' })).ids.length,
      export: (await h.exported('bob')).ids.length,
      exportedThread: (await h.exported('alice', { thread_id: root.id })).ids.length,
      events: (await h.events('bob')).events.length,
      requestEvents: (await h.events('alice')).events.length,
    })
    expect(await shows()).toEqual({
      reads: 6,
      receipts: 3,
      inbox: 2,
      unacked: 2,
      thread: 2,
      unackedThread: 2,
      requests: 1,
      export: 3,
      exportedThread: 2,
      events: 2,
      requestEvents: 1,
    })

    await h.expire(...ids)
    for (const [path, count] of Object.entries(await shows())) expect({ [path]: count }).toEqual({ [path]: 0 })
    expect(await outcomeOf(h.ack('bob', root.id))).toBe('not_found')
    expect(await outcomeOf(h.ack('alice', root.id))).toBe('not_found')
    // Other messages cannot refer to them, and an expired request is no longer pending.
    expect(await outcomeOf(h.send({ from: 'alice', to: 'bob', replyTo: root.id }))).toBe('invalid_reference')
    expect(await outcomeOf(h.send({ from: 'alice', to: 'bob', threadId: root.id }))).toBe('invalid_reference')
    expect(await h.send({ from: 'bob', to: 'alice' })).toMatchObject({ lane: 'requests', duplicate: false })
  })

  test('by the clock alone, without any work of a process', async () => {
    await using h = await startHarness({ retentionDays: 3 / 86_400 })
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    const [row] = await h.openAdmin()`select expires_at::int from messaging.messages where id = ${id}`
    const expiresMs = row?.expires_at * 1000
    await eventually(async () => (await outcomeOf(h.read('bob', id))) === 'not_found')
    expect(Date.now()).toBeGreaterThanOrEqual(expiresMs - 100)
    expect((await h.inbox('bob', { lane: 'requests' })).ids).toEqual([])
    expect((await h.events('bob')).events).toEqual([])
    expect((await h.exported('alice')).ids).toEqual([])
  })
})
