/** Debian's Prometheus and Alertmanager beside a test's system, with the committed rules and the committed example. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Child, startChild } from '@svc/processes/child.ts'
import { findTestRun, takePorts } from '../../support/engines/engines.ts'
import { eventually } from '../../support/eventually.ts'
import { changeYaml, scaleConfig, scaleDurations } from './scaled.ts'

const FOLDER = fileURLToPath(new URL('../../../deploy/observability/', import.meta.url))
const RULES = ['svc-alerts', 'svc-objectives']
const PROGRAMS = ['prometheus', 'prometheus-alertmanager']
/** A minute becomes 4 s. */
const FACTOR = 15
/** A sample is valid for this long if no newer one comes: the 5 minutes of Prometheus, shortened too. */
const LOOKBACK = scaleDurations('5m', FACTOR)

/** Undefined if the programs run. */
export const NO_MONITORING = PROGRAMS.every((name) => spawnSync(name, ['--version']).status === 0)
  ? undefined
  : `it needs ${PROGRAMS.join(', ')} (apt-get install prometheus prometheus-alertmanager)`

interface Notification {
  /** The receiver in alertmanager.yml: `pager`, `tickets`, `watchdog`. */
  readonly receiver: string
  readonly status: 'firing' | 'resolved'
  readonly alerts: readonly { readonly status: string; readonly labels: Readonly<Record<string, string>> }[]
}

export interface Monitoring extends AsyncDisposable {
  /** Every notification so far. */
  readonly notifications: readonly Notification[]
  /** The labels of the samples of a PromQL query, now. */
  query(expression: string): Promise<Readonly<Record<string, string>>[]>
}

/** @param targets addresses of metrics, as `127.0.0.1:9464`. They are read again every second, as in the local stack. */
export async function startMonitoring(targets: () => readonly string[]): Promise<Monitoring> {
  await using started = new AsyncDisposableStack()
  const run = await findTestRun()
  const folder = join(run.folder, 'monitoring')
  mkdirSync(join(folder, 'rules'), { recursive: true })
  const notifications: Notification[] = []
  const receiver = started.use(await startReceiver((one) => notifications.push(one)))
  const [port, alertmanagerPort] = [await takePorts(), await takePorts()]
  const url = `http://127.0.0.1:${port}`

  const alertmanager = changeYaml<AlertmanagerConfig>(
    scaleConfig(readFileSync(join(FOLDER, 'alertmanager.yml'), 'utf8'), FACTOR),
    (config) => {
      for (const { webhook_configs: hooks = [] } of config.receivers) for (const hook of hooks) hook.url = receiver.url
      return config
    },
  )
  writeFileSync(join(folder, 'alertmanager.yml'), alertmanager)
  for (const name of RULES) {
    const rules = readFileSync(join(FOLDER, 'rules', `${name}.yaml`), 'utf8')
    writeFileSync(join(folder, 'rules', `${name}.yaml`), scaleConfig(rules, FACTOR))
  }
  const prometheus = changeYaml<PrometheusConfig>(readFileSync(join(FOLDER, 'prometheus.yml'), 'utf8'), (config) => ({
    ...config,
    // A scrape may take 2 s without NATS, so its interval is not shortened as much.
    global: { scrape_interval: '3s', scrape_timeout: '3s', evaluation_interval: '1s' },
    alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanagerPort}`] }] }] },
    scrape_configs: config.scrape_configs
      .filter(({ job_name }) => job_name === 'svc')
      .map((job) => ({ ...job, file_sd_configs: [{ files: ['targets.json'], refresh_interval: '1s' }] })),
  }))
  writeFileSync(join(folder, 'prometheus.yml'), prometheus)
  const writeTargets = (): void => writeFileSync(join(folder, 'targets.json'), JSON.stringify([{ targets: targets() }]))
  writeTargets()
  const timer = setInterval(writeTargets, 1_000)
  started.defer(() => clearInterval(timer))

  started.use(
    startProgram('prometheus-alertmanager', folder, [
      '--config.file=alertmanager.yml',
      '--storage.path=alertmanager',
      `--web.listen-address=127.0.0.1:${alertmanagerPort}`,
      '--cluster.listen-address=',
    ]),
  )
  started.use(
    startProgram('prometheus', folder, [
      '--config.file=prometheus.yml',
      '--storage.tsdb.path=data',
      `--web.listen-address=127.0.0.1:${port}`,
      `--query.lookback-delta=${LOOKBACK}`,
      // Prometheus repeats firing alerts to Alertmanager, which forgets them otherwise.
      `--rules.alert.resend-delay=${scaleDurations('1m', FACTOR)}`,
    ]),
  )
  for (const at of [url, `http://127.0.0.1:${alertmanagerPort}`])
    await eventually(async () => (await fetch(`${at}/-/ready`)).ok, { what: `${at} being ready` })

  const running = started.move()
  return {
    notifications,
    async query(expression) {
      const answer = await fetch(`${url}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expression }),
      })
      const { data } = (await answer.json()) as { data: { result: { metric: Record<string, string> }[] } }
      return data.result.map(({ metric }) => metric)
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

function startProgram(name: string, cwd: string, args: string[]): AsyncDisposable {
  const child: Child = startChild({ name, command: name, args, cwd, env: { PATH: process.env.PATH }, onLine: () => {} })
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.ended
    },
  }
}

/** Takes notifications of Alertmanager, over HTTP on loopback. */
async function startReceiver(
  take: (notification: Notification) => void,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(async (request, response) => {
    take(JSON.parse(await text(request)) as Notification)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface AlertmanagerConfig {
  readonly receivers: readonly { readonly webhook_configs?: { url: string }[] }[]
}

interface PrometheusConfig {
  readonly scrape_configs: readonly { readonly job_name: string }[]
}
