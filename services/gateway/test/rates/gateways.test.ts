/** Gateways that find each other over a real NATS. */
import { PRESENCE_SUBJECT, reportRatesTo } from '@svc/contracts/gateway.ts'
import { createChannel } from '@svc/nats/channel.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { startTestNats, type TestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { startGateways } from '../../src/rates/gateways.ts'

const logger = createLogger('test', 'silent')
const REPORT = { client: '192.0.2.1', taken: 3, asked: 2, level: 1.234 }

let nats: TestNats
let stack: AsyncDisposableStack
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  nats = stack.use(await startTestNats())
  return () => stack.disposeAsync()
})

/** A gateway's connection, and its discovery of the other gateways. */
async function start() {
  const connection = stack.adopt(await connectNats({ url: nats.urlFor('gateway'), name: 'test', logger }), (n) =>
    drainNats(n, 500),
  )
  const channel = createChannel(connection)
  const gateways = stack.use(await startGateways(channel, logger))
  return { gateways, channel, close: () => connection.connection.close() }
}

type Started = Awaited<ReturnType<typeof start>>

/** Waits until each of these gateways knows exactly these gateways. */
async function untilMet(...started: Started[]): Promise<void> {
  const names = started.map(({ gateways }) => gateways.self).toSorted()
  await eventually(() => {
    for (const { gateways } of started) expect(gateways.all.toSorted()).toEqual(names)
  })
}

describe('gateways know each other', () => {
  test('new gateways and running gateways', async () => {
    const a = await start()
    await untilMet(a)
    const [b, c] = [await start(), await start()]
    await untilMet(a, b, c)
  })

  test('a gateway that stops is removed at once', async () => {
    const [a, b] = [await start(), await start()]
    await untilMet(a, b)
    const changes: number[] = []
    a.gateways.onChange(() => changes.push(a.gateways.all.length))
    b.gateways[Symbol.dispose]()
    await untilMet(a)
    await untilMet(b)
    expect(changes).toEqual([1])
  })

  test('a gateway that has died is removed when it does not answer, which takes little time', async () => {
    const [a, b] = [await start(), await start()]
    await untilMet(a, b)
    await b.close()
    await eventually(async () => {
      await expect(a.gateways.report(b.gateways.self, 'requests', [REPORT])).rejects.toThrow()
    })
    expect(a.gateways.all).toEqual([a.gateways.self])
  })

  test('a gateway that goes silent is removed after a while', async () => {
    const [a, b] = [await start(), await start()]
    await untilMet(a, b)
    await b.close()
    await untilMet(a)
  })

  test('without NATS each gateway is alone, and they find each other again when NATS is back', async () => {
    const [a, b] = [await start(), await start()]
    await untilMet(a, b)
    await nats.kill()
    await untilMet(a)
    await untilMet(b)
    await nats.restart()
    await untilMet(a, b)
  })

  test('a presence that breaks its contract is ignored', async () => {
    const a = await start()
    for (const presence of [
      undefined,
      {},
      { gateway: 'x', state: 'here' },
      { gateway: a.gateways.self, state: 'here' },
    ])
      a.channel.publish(PRESENCE_SUBJECT, presence)
    const b = await start()
    await untilMet(a, b)
  })
})

/** A report that is not answered within a second is dropped, so each is retried. */
describe('reports between gateways', () => {
  test('a report reaches the keeper of its limit, and the answer comes back; levels are rounded up', async () => {
    const [a, b] = [await start(), await start()]
    await untilMet(a, b)
    const kept: unknown[] = []
    b.gateways.onReport('requests', () => ({ granted: 0, level: 0 }))
    b.gateways.onReport('registrations', (report) => {
      kept.push(report)
      return { granted: 1, level: 5.678 }
    })
    const answer = await eventually(() => a.gateways.report(b.gateways.self, 'registrations', [REPORT]))
    expect(answer).toEqual([{ granted: 1, level: 5.68 }])
    expect(kept.at(-1)).toEqual({ ...REPORT, level: 1.24 })
  })

  test('an answer that breaks its contract is ignored', async () => {
    const [a, b] = [await start(), await start()]
    await untilMet(a, b)
    b.gateways.onReport('requests', () => ({ granted: -1, level: 0 }))
    await eventually(() => expect(a.gateways.report(b.gateways.self, 'requests', [REPORT])).rejects.toThrow('contract'))
  })

  test('a report that breaks its contract is not answered, but the next report is', async () => {
    const [a, b] = [await start(), await start()]
    await untilMet(a, b)
    b.gateways.onReport('requests', () => ({ granted: 2, level: 5 }))
    for (const request of [null, { limit: 'requests', reports: [['x', -1, 0, 0]] }, { limit: 'others', reports: [] }])
      a.channel.publish(reportRatesTo(b.gateways.self), request)
    const answer = await eventually(() => a.gateways.report(b.gateways.self, 'requests', [REPORT]))
    expect(answer).toEqual([{ granted: 2, level: 5 }])
  })
})
