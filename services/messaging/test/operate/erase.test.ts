/** The erasure of an agent, as far as messaging does it (spec 12.4). */
import { expect, test } from 'vitest'
import { verifyLogs } from '../../src/handlers/operate/books.ts'
import { eraseAgent, listMissing } from '../../src/handlers/operate/erase-agent.ts'
import { findChecked } from '../../src/store/operate/books.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

const TOMBSTONE = `Erased${'a'.repeat(36)}`

/** Calls until it is done, as identity does. @returns the counts of each call. */
async function erase(h: Harness, agent: string): Promise<Record<string, number>[]> {
  const request = { agent_id: agent, tombstone: TOMBSTONE, operator: 'ann', reason: 'a demand', reference: null }
  const counts: Record<string, number>[] = []
  for (let done = false; !done; ) {
    const answer = await eraseAgent({ database: h.deps.database, purgeEvents: async () => {} }, request)
    counts.push(answer.counts)
    done = answer.done
  }
  return counts
}

test('messages both ways, posts, votes, contacts and the log go; logs of others stay right, and ids stay taken', async () => {
  await using h = await startHarness()
  const admin = h.openAdmin()
  const board = h.boards.create('carol', { posting: 'anyone' })
  for (const agent of ['alice', 'bob']) h.boards.setRole(board, agent, 'writer')
  await h.setPolicy('alice', 'open', 1)
  await h.send({ from: 'bob', to: 'alice' })
  const request = await h.send({ from: 'alice', to: 'bob' })
  await h.setContact('bob', 'alice', 'accepted') // promotes the request
  const sent = await h.send({ from: 'alice', to: 'bob' })
  const received = await h.send({ from: 'bob', to: 'alice' })
  await h.send({ from: 'alice', to: 'alice' })
  const pending = await h.send({ from: 'alice', to: 'dave' })
  await h.setContact('bob', 'carol', 'accepted')
  const kept = await h.send({ from: 'carol', to: 'bob' })
  const post = await h.send({ from: 'alice', to: board })
  const hidden = await h.send({ from: 'alice', to: board })
  await h.setHidden('carol', board, hidden.id, true)
  const own = await h.send({ from: 'carol', to: board })
  await h.vote('alice', own.id)
  await h.vote('bob', post.id)
  const subscribersOf = async (id: string) =>
    (await h.deps.database.sql.begin((tx) => findChecked(tx, [id])))[0]?.subscribers
  const subscribers = await subscribersOf(own.id)

  const counts = await erase(h, 'alice')
  expect(counts).toEqual([{ messages: 8 }, { contacts: 1, votes: 1, events: 1 }])
  // A repeat finds nothing, records nothing more, and returns what the first call recorded.
  expect(await erase(h, 'alice')).toEqual([counts.at(-1)])
  expect(await admin`select operator, action, target from messaging.audit`).toEqual([
    { operator: 'ann', action: 'erased', target: TOMBSTONE },
  ])

  // A post of another agent keeps its number of subscribers, which its price depends on.
  expect(await subscribersOf(own.id)).toBe(subscribers)
  for (const table of ['messages', 'entries', 'logs', 'contacts', 'pending', 'votes'])
    expect(await admin`select from ${admin(`messaging.${table}`)} t where t::text like '%alice%'`).toHaveLength(0)
  expect((await h.inbox('bob')).ids).toEqual([kept.id])
  expect((await h.feed('bob', board)).ids).toEqual([own.id])
  expect((await h.events('bob')).events.map(({ id }) => id)).toEqual([kept.id, own.id])
  const { discrepancies } = await verifyLogs(h.deps, { after: '', limit: 100, id: null })
  expect(discrepancies).toEqual([])

  // The ids cannot be used again, and no new message reaches the agent.
  for (const { id } of [request, sent, received, pending, post, hidden])
    expect(await outcomeOf(h.send({ from: 'bob', to: 'carol', id, body: 'another' }))).toBe('id_conflict')
  expect(await outcomeOf(h.send({ from: 'bob', to: 'alice' }))).toBe('recipient_unavailable')
  // Positions go on after those that are gone.
  const next = await h.send({ from: 'carol', to: 'bob' })
  expect((await h.events('bob')).events.at(-1)?.id).toBe(next.id)
  expect(await listMissing(h.deps, { message_ids: [sent.id, kept.id] })).toEqual({ missing: [sent.id] })
})
