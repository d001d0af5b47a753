/** The events that messaging publishes, and an event that it did not publish. Source: ADR 20. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { openEventStream } from '../../support/client/event-stream.ts'
import { type ListedEvent, readEvents } from '../../support/client/pages.ts'
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

/** Waits until the stream has all events of all recipients, and nothing else. @returns the content of the stream. */
async function untilPublished(): Promise<AcceptedMessage[]> {
  const expected = new Map<string, { subject: string; event: ListedEvent }>()
  for (const agent of recipients) {
    for (const event of await readEvents(agent)) {
      expected.set(`${agent.id}:${event.cursor}`, { subject: `accepted.${agent.id}.${event.kind}`, event })
    }
  }
  const found = await eventually(
    async () => {
      const messages = await readAccepted(h.system.nats)
      expect(messages.map(keyOf).toSorted()).toEqual([...expected.keys()].toSorted())
      return messages
    },
    { what: 'all events being on the stream' },
  )
  for (const message of found) {
    const { subject, event } = expected.get(keyOf(message)) ?? {}
    expect(message.subject).toBe(subject)
    expect(unmoved(JSON.parse(message.payload))).toStrictEqual(unmoved(event))
  }
  return found
}

/** The agent and the cursor of an event. */
function keyOf({ subject, payload }: AcceptedMessage): string {
  return `${subject.split('.')[1]}:${(JSON.parse(payload) as ListedEvent).cursor}`
}

/** Leaves out fields that may have changed after publication: the lane of a request, and whether it was acknowledged. */
function unmoved(event: ListedEvent | undefined): unknown {
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

describe('ADR 20: one message for each log entry', () => {
  test('subject and payload, for every lane; each once', async () => {
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
    expect(found.map(keyOf).toSorted()).toEqual([`${open.id}:1`, `${open.id}:2`])
  })
})

test('ADR 20: an event whose publisher died before it published reaches an open stream within seconds', async () => {
  const open = await newRecipient()
  const [alice] = await h.agents(1)
  using stream = await openEventStream(open)
  await stream.until('cursor')
  await Promise.all(['messaging-1', 'messaging-2'].map((name) => h.system.kill(name)))
  const dying = await h.system.start('messaging-1', { SVC_FAILPOINTS: 'messaging.appended=kill' })
  const envelope = alice.envelope(open)
  const first = alice.post('/v2/messages', envelope)
  await dying.ended
  await Promise.all(['messaging-1', 'messaging-2'].map((name) => h.system.start(name)))
  await stream.until('message')
  expect(stream.ids()).toEqual([envelope.id])
  expect(await alice.post('/v2/messages', envelope)).toMatchObject({ status: 200, body: { duplicate: true } })
  expect(outcomeOf(await first)).toBe('503 unavailable')
})
