/** reply_to and thread_id (spec 6.9), and listing by thread (spec 7.12). */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf, type Spending, spendingOf } from '../../support/client/answers.ts'
import { eventually } from '../../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let alice: Agent
let bob: Agent
let carol: Agent

/** Ids by their role. Each message is sent once, by or to another agent as its name says. */
const ids: Record<string, string> = {}

beforeAll(async () => {
  h = await shareHarness('usual')
  ;[alice, bob, carol] = await h.agents(3)
  await Promise.all([alice, bob, carol].map((agent) => got(agent.patch('/v2/me', { inbox_policy: 'open' }))))
  const send = async (
    name: string,
    from: Agent,
    to: Agent,
    references: { reply_to?: string; thread_id?: string } = {},
  ) => {
    ids[name] = (await got(from.send(to, name, references))).body.msg_id
  }
  await send('root', alice, bob)
  await send('root of the other', bob, alice)
  await send('member', bob, alice, { thread_id: idOf('root') })
  await send('reply outside of threads', bob, alice, { reply_to: idOf('root') })
  await send('acknowledged', alice, bob)
  await got(bob.post(`/v2/messages/${idOf('acknowledged')}/ack`))
  await send('of alice and carol', alice, carol)
  await send('of bob and carol', bob, carol)
  await send('to herself', alice, alice)
})
afterAll(() => h[Symbol.asyncDispose]())

const OK = '202'
const INVALID = '400 invalid_reference'

describe('spec 6.9: from alice to bob', () => {
  const rows: [target: string, replyTo: string, threadId: string][] = [
    ['root', OK, OK],
    ['root of the other', OK, OK],
    ['acknowledged', OK, OK],
    ['member', OK, INVALID],
    ['reply outside of threads', OK, OK],
    ['of alice and carol', INVALID, INVALID],
    ['of bob and carol', INVALID, INVALID],
    ['to herself', INVALID, INVALID],
    ['nobody knows', INVALID, INVALID],
    ['own', INVALID, INVALID],
  ]
  test.each(rows)('reply_to %s: %s', async (target, outcome) => {
    expect(outcomeOf(await sendReferring('reply_to', target))).toBe(outcome)
  })
  test.each(rows)('thread_id %s: %s, %s', async (target, _, outcome) => {
    expect(outcomeOf(await sendReferring('thread_id', target))).toBe(outcome)
  })

  test('one text for all cases, so that nothing is revealed', async () => {
    const targets = rows.filter(([, , outcome]) => outcome === INVALID).map(([target]) => target)
    const answers = await Promise.all(targets.map((target) => sendReferring('thread_id', target)))
    answers.push(await alice.send(bob, 'hello', { thread_id: 'x' }))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  test('a refused message costs nothing', async () => {
    const before = await spendingOf(alice)
    await sendReferring('reply_to', 'nobody knows')
    await untilSpent(before)
  })

  test('spec 11.3: twenty equal concurrent attempts cost nothing either, even if each gateway reserves ahead', async () => {
    const { urls } = h.system
    for (const url of urls) await got(alice.post('/v2/messages', alice.envelope(bob), { url }))
    const before = await spendingOf(alice)
    const envelope = alice.envelope(bob, 'hello', { reply_to: idOf('nobody knows') })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        alice.post('/v2/messages', envelope, { url: urls[at % urls.length] ?? h.place.url }),
      ),
    )
    expect(answers.map(outcomeOf)).toEqual(answers.map(() => INVALID))
    await untilSpent(before)
  })

  /** Released with the answer. If a gateway learns of the refusal too late, its reservation ends by itself 12 s later. */
  async function untilSpent(spending: Spending): Promise<void> {
    await eventually(async () => expect(await spendingOf(alice)).toEqual(spending))
  }

  function sendReferring(member: 'reply_to' | 'thread_id', target: string) {
    const id = randomBytes(12).toString('base64url')
    return alice.send(bob, 'hello', { id, [member]: target === 'own' ? id : idOf(target) })
  }
})

describe('spec 7.12: listing by thread_id', () => {
  let dave: Agent
  let erin: Agent
  let root: string
  let members: string[]
  beforeAll(async () => {
    ;[dave, erin] = await h.agents(2)
    await Promise.all([dave, erin].map((agent) => got(agent.patch('/v2/me', { inbox_policy: 'open' }))))
    root = (await got(dave.send(erin, 'root'))).body.msg_id
    const turns = [erin, dave, erin, dave]
    members = []
    for (const from of turns) {
      const to = from === dave ? erin : dave
      members.push((await got(from.send(to, 'member', { thread_id: root }))).body.msg_id)
      await got(from.send(to, 'elsewhere', { reply_to: root }))
    }
  })

  test('export: the root and its members, of both directions, by acceptance', async () => {
    for (const agent of [dave, erin]) {
      expect(await listedIds(agent, `/v2/export?thread_id=${root}`)).toEqual([root, ...members])
    }
  })

  test('inbox: its received messages', async () => {
    expect(await listedIds(dave, `/v2/inbox?thread_id=${root}`)).toEqual([members[0], members[2]])
    expect(await listedIds(erin, `/v2/inbox?thread_id=${root}`)).toEqual([root, members[1], members[3]])
    expect(await listedIds(erin, `/v2/inbox?lane=requests&thread_id=${root}`)).toEqual([])
  })
})

async function listedIds(agent: Agent, path: string): Promise<string[]> {
  const { body } = await got(agent.get(path))
  return body.messages.map(({ envelope }: { envelope: { id: string } }) => envelope.id)
}

function idOf(name: string): string {
  return ids[name] ?? 'not-there-at-all'
}
