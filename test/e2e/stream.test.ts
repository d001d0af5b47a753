/** The event stream over HTTP, through two gateways and two stream processes. Source: service.md, Stream; decisions 38-40, 51. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Agent } from '../support/agent.ts'
import { got } from '../support/answers.ts'
import { openEventStream } from '../support/event-stream.ts'
import { type Harness, startHarness } from '../support/harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness({ env: { SVC_DAILY_FREE_UNITS: '1000', SVC_DAILY_INTRODUCTIONS: '1000' } })
})
afterAll(() => h[Symbol.asyncDispose]())

/** An agent that takes messages from anybody, and one that sends. */
async function friends(): Promise<[Agent, Agent]> {
  const [anna, ben] = await h.agents(2)
  await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
  return [anna, ben]
}

const send = async (from: Agent, to: Agent | string) => (await got(from.send(to))).body.msg_id as string

test('service.md, GET /v2/stream: history, then what comes, each event once and as /v2/events gives it', async () => {
  const [anna, ben] = await friends()
  const ids = [await send(anna, ben), await send(anna, ben)]
  using stream = await openEventStream(ben)
  expect(stream.status).toBe(200)
  await stream.until('cursor')
  expect(stream.ids()).toEqual(ids)
  ids.push(await send(anna, ben))
  await stream.until('message', 3)
  expect(stream.ids()).toEqual(ids)
  expect(stream.cursors()).toEqual([1, 2, 3])
  const { events } = (await got(ben.get('/v2/events'))).body
  const written = stream.frames.filter(({ event }) => event === 'message').map(({ data }) => JSON.parse(data ?? ''))
  expect(written).toEqual(events)
})
