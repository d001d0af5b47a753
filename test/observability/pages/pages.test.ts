/** Which events wake somebody: the rules, Prometheus, Alertmanager and its example, on a running system. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { eventually } from '../../support/eventually.ts'
import { lacks } from '../../support/run/lacks.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'
import { metricsUrl } from '../scrape.ts'
import { type Monitoring, NO_MONITORING, startMonitoring } from './monitoring.ts'

/** What an ordinary rollout replaces: two processes each of two services. */
const REPLACED = ['gateway-1', 'gateway-2', 'messaging-1', 'messaging-2']

describe.skipIf(lacks(NO_MONITORING))('pages', () => {
  let h: Harness
  let monitoring: Monitoring
  let load: AsyncDisposable

  beforeAll(async () => {
    h = await startHarness({ replicas: { ...ONE_OF_EACH, gateway: 2, messaging: 2 }, env: { SVC_METRICS_PORT: '0' } })
    monitoring = await startMonitoring(() =>
      [...h.system.processes.values()]
        .filter(({ log }) => log.some(({ message }) => message === 'metrics'))
        .map((process) => new URL(metricsUrl(process)).host),
    )
    load = startLoad(await h.agents(2))
    await eventually(async () => (await monitoring.query('agentmsg_ready == 1')).length === 9)
  })
  afterAll(async () => {
    await load?.[Symbol.asyncDispose]()
    await monitoring?.[Symbol.asyncDispose]()
    await h?.[Symbol.asyncDispose]()
  })

  test('a rollout raises no page, and a stopped NATS raises one', async () => {
    for (const name of REPLACED) {
      await h.system.processes.get(name)?.stop()
      await h.system.start(name)
      const port = new URL(metricsUrl(process(name))).host
      await eventually(async () => (await monitoring.query(`agentmsg_ready{instance="${port}"} == 1`)).length === 1)
    }
    expect(pages()).toEqual([])

    await h.system.nats.kill()
    // All that follows from it: these alerts fire, and Alertmanager holds them back.
    await eventually(async () =>
      expect(await firing()).toEqual(
        expect.arrayContaining(['SvcNatsLost', 'SvcServiceNotReady', 'SvcErrorBudgetFast']),
      ),
    )
    await eventually(() => pages().length > 0)
    await h.system.nats.restart()
    // The consequences end while NATS's own alert still holds them back.
    await eventually(async () => (await firing()).length === 0, {
      timeoutMs: 120_000,
      what: 'all critical alerts having ended',
    })
    expect(pages().map(namesOf)).toEqual([['SvcNatsLost']])
    expect(monitoring.notifications.filter(({ receiver }) => receiver === 'watchdog').length).toBeGreaterThan(1)
  }, 300_000)

  function process(name: string) {
    const found = h.system.processes.get(name)
    if (found === undefined) throw new Error(`there is no process ${name}`)
    return found
  }

  async function firing(): Promise<string[]> {
    const alerts = await monitoring.query('ALERTS{alertstate="firing", severity="critical"}')
    return [...new Set(alerts.map(({ alertname = '' }) => alertname))]
  }

  function pages() {
    return monitoring.notifications.filter(({ receiver, status }) => receiver === 'pager' && status === 'firing')
  }
})

function namesOf({
  alerts,
}: {
  readonly alerts: readonly { readonly labels: Readonly<Record<string, string>> }[]
}): string[] {
  return [...new Set(alerts.map(({ labels }) => labels.alertname ?? ''))]
}

/** Ten requests a second, whatever their answers are, so that the objectives see an outage. Clients do not wait for one another. */
function startLoad(agents: readonly Agent[]): AsyncDisposable {
  const underWay = new Set<Promise<unknown>>()
  const timer = setInterval(() => {
    for (const agent of agents) {
      const request = agent
        .get('/v2/me')
        .catch(() => {}) // a gateway is being replaced
        .finally(() => underWay.delete(request))
      underWay.add(request)
    }
  }, 200)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await Promise.all(underWay)
    },
  }
}
