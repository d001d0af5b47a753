/** Every event reaches the stream ACCEPTED, whatever happens to NATS and to the process that committed it. Source: ADR 20. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { eventually } from '../../support/eventually.ts'
import { type AcceptedMessage, readAccepted } from '../../support/system/accepted.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

let h: Harness
/** All agents that have received something. */
const recipients: Agent[] = []

beforeAll(async () => {
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, messaging: 2, gateway: 2 },
    env: { SVC_DAILY_FREE_UNITS: '100000', SVC_DAILY_HARD_LIMIT: '100000' },
  })
})
afterAll(() => h[Symbol.asyncDispose]())

interface Event {
  cursor: number
  kind: string
  message: { lane: string; acked: boolean }
}

async function eventsOf(agent: Agent): Promise<Event[]> {
  const events: Event[] = []
  for (let after = 0; ; ) {
    // While NATS is down, a read is 503 as well.
    const { body } = await eventually(() => got(agent.get(`/v2/events?limit=100&after=${after}`)))
    if (body.events.length === 0) return events
    events.push(...body.events)
    after = body.next_cursor
  }
}

/** Waits until the stream has all events of all recipients, and nothing else. @returns the content of the stream. */
async function untilPublished(): Promise<AcceptedMessage[]> {
  const expected = new Map<string, { subject: string; event: Event }>()
  for (const agent of recipients) {
    for (const event of await eventsOf(agent)) {
      expected.set(`${agent.id}:${event.cursor}`, { subject: `accepted.${agent.id}.${event.kind}`, event })
    }
  }
  const found = await eventually(
    async () => {
      const messages = await readAccepted(h.system.nats)
      expect(new Set(messages.map(({ messageId }) => messageId))).toEqual(new Set(expected.keys()))
      return messages
    },
    { what: 'all events being on the stream' },
  )
  for (const { subject, messageId, payload } of found) {
    expect(subject).toBe(expected.get(messageId)?.subject)
    const event: Event = JSON.parse(payload)
    expect(unmoved(event)).toStrictEqual(unmoved(expected.get(messageId)?.event))
  }
  return found
}

/** Leaves out fields that may have changed after publication: the lane of a request, and whether it was acknowledged. */
function unmoved(event: Event | undefined): unknown {
  if (event === undefined) return undefined
  const { kind, message } = event
  return { ...event, message: { ...message, lane: kind === 'requests' ? '' : message.lane, acked: false } }
}

async function newRecipient(): Promise<Agent> {
  const [agent] = await h.agents(1)
  await got(agent.patch('/v2/me', { inbox_policy: 'open' }))
  recipients.push(agent)
  return agent
}

async function sendUntilAccepted(from: Agent, to: Agent, body: number): Promise<void> {
  const envelope = from.envelope(to, body)
  await got(untilAnswered(() => from.post('/v2/messages', envelope)))
}

describe('ADR 20: one message for each log entry', () => {
  test('subject, Nats-Msg-Id and payload, for every lane; each once', async () => {
    const open = await newRecipient()
    const [shy, alice, ...others] = await h.agents(7)
    recipients.push(shy)
    await got(alice.send(shy, 'a request'))
    await Promise.all(others.map((other, at) => got(other.send(at % 2 === 0 ? open : shy, at))))
    await Promise.all(Array.from({ length: 40 }, (_, at) => got(alice.send(open, at))))
    await got(alice.post('/v2/messages', await alice.sealed(open, 'sealed')))
    await got(shy.put(`/v2/contacts/${alice.id}`, { state: 'accepted' })) // a promotion is also an entry
    await got(alice.send(shy, 'after it'))
    const found = await untilPublished()
    expect(new Set(found.map(({ messageId }) => messageId)).size).toBe(found.length)
    expect(found.filter(({ subject }) => subject === `accepted.${shy.id}.inbox`)).toHaveLength(2)
  })

  test('a refusal, a retry and an acknowledgement publish nothing', async () => {
    const open = await newRecipient()
    const [alice] = await h.agents(1)
    const envelope = alice.envelope(open)
    await got(alice.post('/v2/messages', envelope))
    await got(alice.post('/v2/messages', envelope))
    await alice.send(open, 'x', { reply_to: 'not-there' })
    await got(open.post(`/v2/messages/${envelope.id}/ack`))
    await got(alice.send(open))
    // Two processes may publish them in either order.
    const found = (await untilPublished()).filter(({ subject }) => subject.includes(open.id))
    expect(found.map(({ messageId }) => messageId).toSorted()).toEqual([`${open.id}:1`, `${open.id}:2`])
  })
})

describe('ADR 20: another process publishes events if the process that committed them died', () => {
  test('killed after the commit', async () => {
    const open = await newRecipient()
    const [alice] = await h.agents(1)
    await Promise.all(['messaging-1', 'messaging-2'].map((name) => h.system.kill(name)))
    const dying = await h.system.start('messaging-1', { SVC_FAILPOINTS: 'messaging.appended=kill' })
    const envelope = alice.envelope(open)
    const first = alice.post('/v2/messages', envelope)
    await dying.ended
    await Promise.all(['messaging-1', 'messaging-2'].map((name) => h.system.start(name)))
    expect((await eventsOf(open)).map(({ cursor }) => cursor)).toEqual([1])
    expect(await alice.post('/v2/messages', envelope)).toMatchObject({ status: 200, body: { duplicate: true } })
    await untilPublished()
    expect(outcomeOf(await first)).toBe('503 unavailable')
  })
})

describe('ADR 20: while NATS fails and recovers', () => {
  const restarts: { how: string; restart: () => Promise<void>; times: 'once' | 'at least once' }[] = [
    {
      how: 'killed and started',
      restart: async () => {
        await h.system.nats.kill()
        await h.system.nats.restart()
      },
      times: 'once',
    },
    { how: 'wiped', restart: () => h.system.nats.restart({ wipe: true }), times: 'at least once' },
  ]
  test.each(restarts)('$how under load: every accepted event is on the stream, $times', async ({ restart, times }) => {
    const open = await newRecipient()
    const senders = await h.agents(8)
    for (const sender of senders) await got(sender.send(open, -1))
    await untilPublished()

    const sending = Promise.all(
      senders.map(async (sender) => {
        for (let at = 0; at < 15; at += 1) await sendUntilAccepted(sender, open, at)
      }),
    )
    await eventually(async () => (await eventsOf(open)).length > 20)
    await restart()
    await sending
    const found = await untilPublished()
    expect((await eventsOf(open)).length).toBe(8 * 16)
    if (times === 'once') expect(new Set(found.map(({ messageId }) => messageId)).size).toBe(found.length)
  })

  test('wiped while idle: lost events are published again', async () => {
    expect(recipients.length).toBeGreaterThan(3)
    await untilPublished()
    await h.system.nats.restart({ wipe: true })
    const found = await untilPublished()
    expect(found.length).toBeGreaterThan(300)
  })
})
