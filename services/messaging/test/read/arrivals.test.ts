import { ARRIVALS_MAX } from '@svc/contracts/messaging.ts'
import { expect, test } from 'vitest'
import { listArrivals, readArrivals } from '../../src/handlers/read/arrivals.ts'
import { type Harness, startHarness } from '../support/harness.ts'

const listOf = async (h: Harness, agent_id: string, after: number) => {
  const { logs } = await listArrivals(h.deps, { logs: [{ agent_id, after }] })
  return logs[0]
}

test('spec 7.7; ADR 13: the inbox entries after a position are listed in order, including promotions at their own position', async () => {
  await using h = await startHarness()
  const request = await h.send({ from: 'alice', to: 'bob' })
  await h.setContact('bob', 'carol', 'accepted')
  const message = await h.send({ from: 'carol', to: 'bob' })
  expect(await listOf(h, 'bob', 0)).toEqual({ through: 2, entries: [{ cursor: 2, message_id: message.id }] })
  await h.setContact('bob', 'alice', 'accepted')
  const promotion = { cursor: 3, message_id: request.id }
  expect(await listOf(h, 'bob', 0)).toEqual({
    through: 3,
    entries: [{ cursor: 2, message_id: message.id }, promotion],
  })
  expect(await listOf(h, 'bob', 2)).toEqual({ through: 3, entries: [promotion] })
  expect(await listOf(h, 'bob', 3)).toEqual({ through: 3, entries: [] })
  // When the partition of the other message is truncated, the promotion is still listed.
  await h.expire(message.id)
  await h.purge()
  expect(await listOf(h, 'bob', 0)).toEqual({ through: 3, entries: [promotion] })
})

test('an answer about many logs has the first entries of each, and says how far it goes', async () => {
  await using h = await startHarness()
  await h.setPolicy('bob', 'open', 1)
  await h.setPolicy('dave', 'open', 1)
  const sent: string[] = []
  for (let count = 0; count <= ARRIVALS_MAX.entries; count += 1) {
    sent.push((await h.send({ from: `sender-${count}`, to: 'bob' })).id)
  }
  const { id } = await h.send({ from: 'alice', to: 'dave' })
  const asked = ['nobody', 'bob', 'dave'].map((agent_id) => ({ agent_id, after: 0 }))
  const { logs } = await listArrivals(h.deps, { logs: asked })
  expect(logs[0]).toEqual({ through: 0, entries: [] })
  expect(logs[1]?.through).toBe(ARRIVALS_MAX.entries)
  expect(logs[1]?.entries.map(({ message_id }) => message_id)).toEqual(sent.slice(0, ARRIVALS_MAX.entries))
  expect(logs[2]).toEqual({ through: 1, entries: [{ cursor: 1, message_id: id }] })
})

test('live entries are read as the events that were published, as many as fit a page', async () => {
  await using h = await startHarness()
  await h.setPolicy('bob', 'open', 1)
  const body = 'x'.repeat(200_000)
  const sent = []
  for (const from of ['a', 'b', 'c', 'd', 'e']) sent.push(await h.send({ from, to: 'bob', body }))
  await h.expire(sent[1]?.id ?? '')
  const entries = [1, 2, 3, 4, 5].map((cursor) => ({ agent_id: 'bob', cursor }))
  const page = await readArrivals(h.deps, { entries })
  expect(page.meta).toEqual({ looked_at: 3, found: [0, 2] })
  expect(page.text.split('\t').map((text) => JSON.parse(text).cursor)).toEqual([1, 3])
  const rest = await readArrivals(h.deps, { entries: entries.slice(3) })
  expect(rest.meta).toEqual({ looked_at: 2, found: [0, 1] })
  const last = JSON.parse(rest.text.split('\t')[1] ?? '')
  expect(last).toMatchObject({ cursor: 5, kind: 'inbox', message: { lane: 'inbox', envelope: { id: sent[4]?.id } } })
  const gone = { agent_id: 'bob', cursor: 2 }
  expect(await readArrivals(h.deps, { entries: [gone] })).toEqual({ meta: { looked_at: 1, found: [] }, text: '' })
})
