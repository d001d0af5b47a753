/** The address of a waiting stream is visible on the network, but its ticket is secret. */
import { openStream, type StreamPlace } from '@svc/contracts/stream.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../support/client/agent.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'

let h: SharedHarness
let open: (agent: Agent) => Promise<StreamPlace>
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  h = stack.use(await shareHarness('usual'))
  const logger = createLogger('test', 'silent')
  const nats = stack.adopt(
    await connectNats({ url: h.system.nats.urlFor('gateway'), name: 'test', logger }),
    (connection) => drainNats(connection, 1_000),
  )
  const bus = stack.use(createBus(nats))
  open = (agent) => {
    const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 }
    return bus.call(openStream, { agent_id: agent.id, after: 0 }, context)
  }
})
afterAll(() => stack.disposeAsync())

function at({ address, ticket }: StreamPlace, method = 'GET'): Promise<Response> {
  return fetch(`${address}/streams/${ticket}`, { method, signal: AbortSignal.timeout(30_000) })
}

describe('a ticket', () => {
  test('works once, and reveals nothing to others', async () => {
    const [anna] = await h.agents(1)
    const place = await open(anna)
    const stream = await at(place)
    expect(stream.status).toBe(200)
    const second = await at(place)
    expect(second.status).toBe(404)
    await at(place, 'DELETE')
    expect(await stream.text()).toContain('event: cursor')
    expect((await at(place)).status).toBe(404)
  })

  test('is 256 bits that cannot be guessed: any other is 404', async () => {
    const [anna] = await h.agents(1)
    const [place, other] = [await open(anna), await open(anna)]
    expect(Buffer.from(place.ticket, 'base64url')).toHaveLength(32)
    expect(other.ticket).not.toBe(place.ticket)
    const near = `${place.ticket.slice(0, -2)}${place.ticket.endsWith('AA') ? 'BB' : 'AA'}`
    for (const ticket of [near, 'A'.repeat(43), '', '..', '%2e%2e', `${place.ticket}/x`, `${place.ticket}?x=1`]) {
      const answer = await at({ ...place, ticket })
      expect([answer.status, await answer.text()], ticket).toEqual([404, ''])
    }
    for (const each of [place, other]) expect((await at(each, 'DELETE')).status).toBeLessThan(500)
  })
})
