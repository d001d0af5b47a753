import { restoreMessage, takedownMessage as takedownCall } from '@svc/contracts/admin.ts'
import * as calls from '@svc/contracts/messaging.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { judgeMessages, verifyLogs, verifyMessages } from '../../src/handlers/operate/books.ts'
import { takedownMessage } from '../../src/handlers/operate/takedown-message.ts'
import { listArrivals, readArrivals } from '../../src/handlers/read/arrivals.ts'
import { replayEvents } from '../../src/handlers/read/replay-events.ts'
import { resolvePost } from '../../src/handlers/read/resolve-post.ts'
import { contextNow, type Harness, newId, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

const REASON = 'a threat'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

function change(id: string, takenDown: boolean, dry_run = false) {
  const request = { id, dry_run, reason: REASON, reference: 'INC-17' }
  return takedownMessage(h.deps, request, { operator: 'olivia' }, takenDown)
}

let scenes = 0

/** A thread of two DMs from anna to ben, a request from cora to ben, and a thread of two posts by wes on olga's board. */
async function startScene() {
  scenes += 1
  const [anna, ben, cora, olga, wes, rita] = ['anna', 'ben', 'cora', 'olga', 'wes', 'rita'].map(
    (name) => `${name}-${scenes}`,
  ) as [string, string, string, string, string, string]
  await h.setContact(ben, anna, 'accepted')
  await h.setContact(anna, ben, 'accepted')
  const board = h.boards.create(olga)
  h.boards.setRole(board, wes, 'writer')
  h.boards.setRole(board, rita, 'reader')
  const root = (await h.send({ from: anna, to: ben })).id
  const dm = (await h.send({ from: anna, to: ben, threadId: root })).id
  const request = (await h.send({ from: cora, to: ben })).id
  const postRoot = (await h.send({ from: wes, to: board })).id
  const post = (await h.send({ from: wes, to: board, threadId: postRoot })).id
  return { anna, ben, cora, olga, wes, rita, board, root, dm, request, postRoot, post }
}
type Scene = Awaited<ReturnType<typeof startScene>>

/** `shown` if the message is in the answer, `absent` if it is not, or the code of the refusal. */
async function shownIn(id: string, answer: Promise<unknown>): Promise<string> {
  const outcome = await answer.then(
    (found) => (JSON.stringify(found).includes(id) ? 'shown' : 'absent'),
    (error: { code?: string }) => error.code ?? String(error),
  )
  return outcome
}

const events = async (agent: string) => (await h.events(agent)).events
const replayed = (agent_id: string) => replayEvents(h.deps, { agent_id, after: 0, limit: 100 }, contextNow())

/** Every read of every message by everybody who may see it, and every other operation that needs a message that exists. */
const READS: Record<string, (s: Scene) => Record<string, Promise<string>>> = {
  getMessage: (s) => ({
    'root by its sender': shownIn(s.root, h.read(s.anna, s.root)),
    'root by its recipient': shownIn(s.root, h.read(s.ben, s.root)),
    'request by its sender': shownIn(s.request, h.read(s.cora, s.request)),
    'post by its author': shownIn(s.post, h.read(s.wes, s.post)),
    'post by the owner': shownIn(s.post, h.read(s.olga, s.post)),
    'post by anybody': shownIn(s.post, h.read(null, s.post)),
  }),
  listInbox: (s) => ({
    'root in the inbox': shownIn(s.root, h.inbox(s.ben)),
    'root in the unacked': shownIn(s.root, h.inbox(s.ben, { unacked: true })),
    'root in its thread': shownIn(s.root, h.inbox(s.ben, { thread_id: s.root })),
    'root in its unacked thread': shownIn(s.root, h.inbox(s.ben, { thread_id: s.root, unacked: true })),
    'member in its thread': shownIn(s.dm, h.inbox(s.ben, { thread_id: s.root })),
    'member in its unacked thread': shownIn(s.dm, h.inbox(s.ben, { thread_id: s.root, unacked: true })),
    'request in the requests': shownIn(s.request, h.inbox(s.ben, { lane: 'requests' })),
  }),
  exportMessages: (s) => ({
    'root by its sender': shownIn(s.root, h.exported(s.anna)),
    'root by its recipient': shownIn(s.root, h.exported(s.ben)),
    'root in its thread': shownIn(s.root, h.exported(s.ben, { thread_id: s.root })),
    'member in its thread': shownIn(s.dm, h.exported(s.anna, { thread_id: s.root })),
    'post by its author': shownIn(s.post, h.exported(s.wes)),
    'post in its thread': shownIn(s.post, h.exported(s.wes, { thread_id: s.postRoot })),
  }),
  listEvents: (s) => ({
    'root of its recipient': shownIn(s.root, events(s.ben)),
    'request of its recipient': shownIn(s.request, events(s.ben)),
    'post of the owner': shownIn(s.post, events(s.olga)),
    'post of a subscriber': shownIn(s.post, events(s.rita)),
  }),
  replayEvents: (s) => ({
    'root of its recipient': shownIn(s.root, replayed(s.ben)),
    'post of a subscriber': shownIn(s.post, replayed(s.rita)),
  }),
  listPosts: (s) => ({
    'post of the owner': shownIn(s.post, h.feed(s.olga, s.board)),
    'post of its author': shownIn(s.post, h.feed(s.wes, s.board)),
    'post of anybody': shownIn(s.post, h.feed(null, s.board)),
    'post in its thread': shownIn(s.post, h.feed(null, s.board, { thread_id: s.postRoot })),
    'post root in its thread': shownIn(s.postRoot, h.feed(null, s.board, { thread_id: s.postRoot })),
  }),
  resolvePost: (s) => ({
    post: shownIn(s.post, resolvePost(h.deps, { id: s.post, board_id: s.board }, contextNow())),
  }),
  readArrivals: (s) => ({
    root: shownIn(s.root, readArrivals(h.deps, { entries: [{ agent_id: s.ben, cursor: 1 }] })),
  }),
  getReceipt: (s) => ({
    'root by its sender': shownIn(s.root, h.receipt(s.anna, s.root)),
    'root by its recipient': shownIn(s.root, h.receipt(s.ben, s.root)),
  }),
  ackMessage: (s) => ({
    'member by its recipient': shownIn('acked', h.ack(s.ben, s.dm)),
  }),
  setVote: (s) => ({
    'post by a reader': shownIn('voted', h.vote(s.rita, s.post)),
    'post taken back': shownIn('removed', h.vote(s.rita, s.post, false)),
  }),
  setVisibility: (s) => ({
    'post by the owner': shownIn('hidden', h.setHidden(s.olga, s.board, s.post, false)),
  }),
  sendMessage: (s) => ({
    'reply by its sender': shownIn('accepted', h.send({ from: s.anna, to: s.ben, replyTo: s.root })),
    'reply by its recipient': shownIn('accepted', h.send({ from: s.ben, to: s.anna, replyTo: s.root })),
    'in its thread': shownIn('accepted', h.send({ from: s.anna, to: s.ben, threadId: s.root })),
    'reply to the post': shownIn('accepted', h.send({ from: s.olga, to: s.board, replyTo: s.post })),
    'in the thread of the post': shownIn('accepted', h.send({ from: s.olga, to: s.board, threadId: s.postRoot })),
  }),
}

/** The calls that neither show a message nor look one up for a client. */
const OTHERS = [
  'listHeads',
  'listMoved',
  'listRevoked',
  'listArrivals', // ids of entries, for webhook, which then reads them
  'setContact',
  'listContacts',
  'setMailbox',
  'setSuspension',
]

async function outcomesOf(reads: Record<string, Promise<string>>): Promise<Record<string, string>> {
  const rows = await Promise.all(Object.entries(reads).map(async ([name, read]) => [name, await read] as const))
  return Object.fromEntries(rows)
}

test('every call of messaging is in the table of reads, or known to show no message', () => {
  const defined = Object.entries(calls).flatMap(([name, call]) => ('subject' in Object(call) ? [name] : []))
  expect([...Object.keys(READS), ...OTHERS].toSorted()).toEqual(defined.toSorted())
})

describe('spec 12.4: what is taken down is absent for everybody, and returns when it is restored', () => {
  const REFUSED: Record<string, string> = {
    getMessage: 'not_found',
    getReceipt: 'not_found',
    ackMessage: 'not_found',
    setVote: 'not_found',
    setVisibility: 'not_found',
    sendMessage: 'invalid_reference',
  }

  test.each(Object.keys(READS))('%s', async (call) => {
    const scene = await startScene()
    const read = READS[call]
    if (read === undefined) throw new Error('no such row')
    const before = await outcomesOf(read(scene))
    expect(new Set(Object.values(before))).toEqual(new Set(['shown']))
    const all = [scene.root, scene.dm, scene.request, scene.postRoot, scene.post]
    for (const id of all) await change(id, true)
    const down = await outcomesOf(read(scene))
    expect(new Set(Object.values(down)), JSON.stringify(down)).toEqual(new Set([REFUSED[call] ?? 'absent']))
    for (const id of all) await change(id, false)
    expect(await outcomesOf(read(scene))).toEqual(before)
  })

  test('the other messages stay, cursors are those of before, and the books add up', async () => {
    const s = await startScene()
    const before = await h.events(s.ben)
    await change(s.dm, true)
    await change(s.post, true)
    const during = await h.events(s.ben)
    expect(during).toEqual({ ...before, events: before.events.filter(({ id }) => id !== s.dm) })
    expect((await h.inbox(s.ben, { thread_id: s.root })).ids).toEqual([s.root])
    expect((await h.feed(null, s.board)).ids).toEqual([s.postRoot])
    const next = await h.send({ from: s.anna, to: s.ben })
    expect((await h.events(s.ben, during.next)).events).toMatchObject([{ id: next.id, cursor: during.next + 1 }])
    for (const id of [s.ben, s.board]) {
      const page = { after: '', limit: 1_000, id }
      expect((await verifyLogs(h.deps, page)).discrepancies).toEqual([])
    }
    const books = await verifyMessages(h.deps, { after: '', limit: 1_000, id: s.anna })
    expect(books).toMatchObject({ checked: 3, discrepancies: [], pairs: [{ agent_id: s.anna, peer: s.ben }] })
    const operations = books.charges.map(({ operation }) => operation)
    const judged = await h.deps.database.transaction((tx) => judgeMessages(tx, operations))
    expect(judged.map((each) => each?.done)).toEqual(operations.map(() => true))
  })

  test('spec 7.4: its id stays taken: an identical retry is a duplicate, anything else a conflict', async () => {
    const s = await startScene()
    const id = newId()
    await h.send({ from: s.anna, to: s.ben, id })
    await change(id, true)
    expect(await h.send({ from: s.anna, to: s.ben, id })).toMatchObject({ duplicate: true, lane: 'inbox' })
    expect(await outcomeOf(h.send({ from: s.anna, to: s.ben, id, body: 'other' }))).toBe('id_conflict')
  })

  test('spec 7.7: a request that is taken down stays pending, and one that is accepted meanwhile returns in the inbox', async () => {
    const s = await startScene()
    await change(s.request, true)
    expect(await outcomeOf(h.send({ from: s.cora, to: s.ben }))).toBe('request_pending')
    h.published.length = 0
    await h.setContact(s.ben, s.cora, 'accepted')
    expect(h.published).toEqual([])
    expect((await h.events(s.ben)).events.map(({ id }) => id)).toEqual([s.root, s.dm])
    await change(s.request, false)
    expect((await h.inbox(s.ben)).ids).toEqual([s.root, s.dm, s.request])
  })

  test('spec 8.9: the owner of the board can neither show it again nor change whether it is hidden', async () => {
    const s = await startScene()
    await h.setHidden(s.olga, s.board, s.post, true)
    await change(s.post, true)
    for (const hidden of [false, true, false])
      expect(await outcomeOf(h.setHidden(s.olga, s.board, s.post, hidden))).toBe('not_found')
    await change(s.post, false)
    expect(await outcomeOf(h.read(null, s.post))).toBe('not_found')
    expect(await outcomeOf(h.read(s.olga, s.post))).toBe('ok')
  })

  test('webhook still learns of its entry, so that its position passes it', async () => {
    const s = await startScene()
    await change(s.root, true)
    const { logs } = await listArrivals(h.deps, { logs: [{ agent_id: s.ben, after: 0 }] })
    expect(logs[0]?.entries.map(({ message_id }) => message_id)).toEqual([s.root, s.dm])
  })
})

describe('the calls of the operator', () => {
  const audited = (id: string) =>
    h.deps.database.run(
      (sql) => sql`
        select operator, action, reference, reason, result from messaging.audit where target = ${id} order by id`,
    )

  test('each change is one row of the audit; a repeat and a dry run write none', async () => {
    const s = await startScene()
    const answer = { kind: 'message', recipient: s.ben }
    expect(await change(s.root, true, true)).toEqual({ ...answer, changed: true })
    expect(await audited(s.root)).toEqual([])
    expect(await change(s.root, true)).toEqual({ ...answer, changed: true })
    for (const dry of [false, true]) expect(await change(s.root, true, dry)).toEqual({ ...answer, changed: false })
    expect(await change(s.root, false)).toEqual({ ...answer, changed: true })
    expect(await change(s.root, false)).toEqual({ ...answer, changed: false })
    const row = { operator: 'olivia', reference: 'INC-17', reason: REASON, result: { kind: 'message' } }
    expect(await audited(s.root)).toEqual([
      { ...row, action: 'takedown' },
      { ...row, action: 'restore' },
    ])
    expect(await change(s.post, true)).toEqual({ kind: 'post', changed: true, recipient: null })
  })

  test('an unknown and an expired message are not found; a reason is needed', async () => {
    const s = await startScene()
    await h.expire(s.root)
    for (const id of [s.root, newId()]) {
      for (const dry of [true, false]) expect(await outcomeOf(change(id, true, dry))).toBe('not_found')
    }
    for (const call of [takedownCall, restoreMessage]) expect(call.isRequest({ id: s.dm, dry_run: false })).toBe(true)
    const without = takedownMessage(h.deps, { id: s.dm, dry_run: false }, { operator: 'olivia' }, true)
    expect(await outcomeOf(without)).toBe('invalid_request')
    expect(await outcomeOf(h.read(s.ben, s.dm))).toBe('ok')
  })

  test('many at once: one row for each change, and the last one holds', async () => {
    const s = await startScene()
    const answers = await Promise.all(Array.from({ length: 12 }, () => change(s.dm, true)))
    expect(answers.filter(({ changed }) => changed)).toHaveLength(1)
    expect(await audited(s.dm)).toHaveLength(1)
  })
})
