import type { Suspension } from '@svc/contracts/suspension.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { describe, expect, test } from 'vitest'
import { setMailbox } from '../../src/handlers/change/set-mailbox.ts'
import { setSuspension } from '../../src/handlers/change/set-suspension.ts'
import { listHeads, listMoved } from '../../src/handlers/read/list-heads.ts'
import { listRevoked } from '../../src/handlers/read/list-revoked.ts'
import { replayEvents } from '../../src/handlers/read/replay-events.ts'
import { resolvePost } from '../../src/handlers/read/resolve-post.ts'
import { startHarness } from '../support/harness.ts'

const context = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 })

describe('the calls of a stream process', () => {
  test('replay-events gives the events of list-events one by one, as the same text', async () => {
    await using h = await startHarness()
    for (const from of ['alice', 'carol', 'dave']) await h.send({ from, to: 'bob', body: '{"n":1.0,"t":"a\\tb"}' })
    const { meta, text } = await replayEvents(h.deps, { agent_id: 'bob', after: 1, limit: 1 }, context())
    expect(meta).toEqual({ earliest: 1, latest: 3, next_cursor: 2, cursors: [2] })
    const rest = await replayEvents(h.deps, { agent_id: 'bob', after: 0, limit: 100 }, context())
    expect(rest.meta).toEqual({ earliest: 1, latest: 3, next_cursor: 3, cursors: [1, 2, 3] })
    const texts = rest.text.split('\t')
    expect(texts[1]).toBe(text)
    expect(texts.map((one) => JSON.parse(one).cursor)).toEqual([1, 2, 3])
  })

  test('spec 9.4: skipped events count as examined; at the end of the log there are no events', async () => {
    await using h = await startHarness()
    const ids = [await h.send({ from: 'alice', to: 'bob' }), await h.send({ from: 'carol', to: 'bob' })]
    await h.expire(ids[1]?.id ?? '')
    const { meta } = await replayEvents(h.deps, { agent_id: 'bob', after: 0, limit: 100 }, context())
    expect(meta).toEqual({ earliest: 1, latest: 2, next_cursor: 2, cursors: [1] })
    const end = await replayEvents(h.deps, { agent_id: 'bob', after: 2, limit: 100 }, context())
    expect(end).toEqual({ meta: { earliest: 1, latest: 2, next_cursor: 2, cursors: [] }, text: '' })
  })

  test('list-heads answers the head of each log and which agents are revoked, in the order of the request', async () => {
    await using h = await startHarness()
    await h.send({ from: 'alice', to: 'bob' })
    await h.send({ from: 'carol', to: 'bob' })
    await h.setPolicy('dave', 'open', 1)
    const { logs } = await listHeads(h.deps, { agent_ids: ['nobody', 'bob', 'dave'] })
    expect(logs).toEqual([
      { head: 0, revoked: false },
      { head: 2, revoked: false },
      { head: 0, revoked: false },
    ])
    const { moved } = await listMoved(h.deps, { agent_ids: ['nobody', 'bob', 'dave', 'lost'], heads: [0, 1, 0, 7] })
    expect(moved).toEqual([
      { index: 1, head: 2 },
      { index: 3, head: 0 },
    ])
  })

  test('spec 5.11: list-revoked lists agents revoked since the last answer, at least once, and none revoked long before', async () => {
    await using h = await startHarness()
    const ask = (since_ms: number | null = null) => listRevoked(h.deps, { since_ms })
    const revoke = (agent_id: string, revoked = true, version = 1) =>
      setMailbox(h.deps, { agent_id, policy: 'open', revoked, version })
    await revoke('long-ago')
    await h.deps.database.run((sql) => sql`update messaging.logs set revoked_at = now() - interval '1 hour'`)
    const { next_since_ms: since } = await ask()
    expect(await ask(since)).toMatchObject({ revoked: [], is_complete: true })
    await revoke('bob')
    await revoke('carol', false)
    expect(await ask(since)).toMatchObject({ revoked: ['bob'] })
    expect(await ask()).toMatchObject({ revoked: [] })
    await revoke('long-ago', true, 2) // a later version of the mailbox is not a new revocation
    expect(await ask(since)).toMatchObject({ revoked: ['bob'] })
  })

  test('spec 12.4: list-revoked and list-heads name suspended agents until they are resumed or the end passes; a late version changes nothing', async () => {
    await using h = await startHarness()
    const { next_since_ms: since_ms } = await listRevoked(h.deps, { since_ms: null })
    const closed = async (agent_id: string) => [
      (await listRevoked(h.deps, { since_ms })).revoked.includes(agent_id),
      (await listHeads(h.deps, { agent_ids: [agent_id] })).logs[0]?.revoked,
    ]
    const [yes, no] = [
      [true, true],
      [false, false],
    ]
    const change = (agent_id: string, version: number, suspension: Suspension | null) =>
      setSuspension(h.deps, { agent_id, suspension, version })
    await h.send({ from: 'alice', to: 'bob' })
    await change('bob', 2, { until: null })
    await change('bob', 1, null)
    expect(await closed('bob')).toEqual(yes)
    // Messages to it are still accepted.
    expect((await h.send({ from: 'carol', to: 'bob' })).id).toBeDefined()
    await change('bob', 3, null)
    await change('bob', 2, { until: null })
    expect(await closed('bob')).toEqual(no)

    await change('dave', 1, { until: Math.floor(Date.now() / 1_000) + 60 }) // it has no log yet
    expect(await closed('dave')).toEqual(yes)
    await change('dave', 2, { until: 1 })
    expect(await closed('dave')).toEqual(no)
  })

  test.each([
    ['public', ['left', 'rita', 'was-banned']],
    ['unlisted', ['left', 'rita', 'was-banned']],
    ['private', ['rita']],
  ] as const)(
    'spec 9.4, 9.5: resolve-post gives a post of a %s board with the agents that have its event and may read it now',
    async (visibility, expected) => {
      await using h = await startHarness()
      const board = h.boards.create('olga', { visibility })
      for (const agent of ['left', 'rita', 'was-banned']) h.boards.setRole(board, agent, 'reader')
      h.boards.setRole(board, 'never-there', 'banned')
      const { id } = await h.send({ from: 'olga', to: board })
      h.boards.setRole(board, 'left', 'none')
      h.boards.setRole(board, 'was-banned', 'banned')
      h.boards.setRole(board, 'came-later', 'reader')
      const { meta, text } = await resolvePost(h.deps, { id, board_id: board }, context())
      expect([...meta.subscribers].sort()).toEqual(expected)
      expect(JSON.parse(text)).toMatchObject({ lane: 'board', upvotes: 0 })
    },
  )

  test('spec 8.9: resolve-post gives nothing for a post that is hidden, absent or on another board', async () => {
    await using h = await startHarness()
    const [board, other] = [h.boards.create('olga'), h.boards.create('olga')]
    h.boards.setRole(board, 'rita', 'reader')
    const { id } = await h.send({ from: 'olga', to: board })
    const nothing = { meta: { subscribers: [] }, text: '' }
    expect(await resolvePost(h.deps, { id, board_id: other }, context())).toEqual(nothing)
    expect(await resolvePost(h.deps, { id: 'absent-message', board_id: board }, context())).toEqual(nothing)
    await h.setHidden('olga', board, id, true)
    expect(await resolvePost(h.deps, { id, board_id: board }, context())).toEqual(nothing)
  })
})
