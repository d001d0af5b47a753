/** The last step of a start: all services at once. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { listProcesses } from '@svc/nats/process-stats.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { parseLogLine } from '../output/log-lines.ts'
import { environmentFor, type SystemSettings, superviseService } from '../services.ts'
import { StartError } from '../start-error.ts'
import { SERVICES, type ServiceName, STOP_GROUPS } from '../topology.ts'
import { gatewayUrls } from './addresses.ts'
import { type Run, reasonOf, say, WARN } from './run.ts'

/** Long, because all services start at once, on a machine that may be busy. */
const HEALTH_LIMIT_MS = 120_000
const HEALTH_POLL_MS = 50
const MAX_FAILED_STARTS = 3
/** Exit code of a service with an invalid configuration (libs/service, run-service.ts). A restart would not help. */
const EX_CONFIG = 78

interface LocalSettings extends SystemSettings {
  /** The folder of the services' modules. */
  readonly build: string
}

/** Starts the services. Returns when every gateway reports all of them healthy, or without gateways, when all have begun to serve. */
export async function startSystem(run: Run, settings: LocalSettings): Promise<void> {
  const givenUp = Promise.withResolvers<never>()
  const ended = new AbortController()
  const signal = AbortSignal.any([run.signal, ended.signal])
  signal.throwIfAborted()
  for (const services of STOP_GROUPS.toReversed()) startServices(run, services, settings, givenUp.reject)
  const urls = gatewayUrls(run.config)
  const healthy =
    urls.length > 0
      ? Promise.all(urls.map((url) => waitForHealth(url, signal)))
      : waitForServices(run, settings.natsUrlFor('admin'), signal)
  try {
    const failure = await Promise.race([
      healthy.then(() => undefined),
      givenUp.promise,
      reasonOf(run.engineLost.signal),
    ])
    if (failure !== undefined) throw new StartError(failure)
  } finally {
    ended.abort()
  }
}

/**
 * Starts all processes of these services at once. They also stop at once.
 * @param giveUp called with a StartError if a service cannot start. Has no effect once the stack is up.
 */
function startServices(
  run: Run,
  services: readonly ServiceName[],
  settings: LocalSettings,
  giveUp: (reason: StartError) => void,
): void {
  const supervisors = services.flatMap((service) =>
    Array.from({ length: run.config.replicas[service] }, (_, at) => {
      const index = at + 1
      const name = `${service}-${index}`
      let lastWords = ''
      return superviseService({
        service,
        index,
        mark: run.mark,
        module: join(settings.build, `${service}.js`),
        env: environmentFor(service, index, settings),
        onLine: (line) => {
          const event = parseLogLine(line, Date.now())
          const telling = lastWords === '' || /error|configuration/i.test(event.message)
          if (event.level >= WARN && telling) lastWords = event.message
          run.log(name, event)
        },
        onRestart: ({ code, reason }, delayMs, failures) => {
          say(run, WARN, `${name} ended (${reason}) and restarts in ${delayMs / 1000} s`)
          if (code === EX_CONFIG || failures >= MAX_FAILED_STARTS)
            giveUp(new StartError(`${name} does not start: ${lastWords || reason}`))
        },
      })
    }),
  )
  // Without an engine, services could finish no work and would only wait for it.
  for (const end of [run.force, run.engineLost.signal]) {
    for (const { kill } of supervisors) end.addEventListener('abort', kill)
  }
  run.started.defer(async () => {
    await Promise.all(supervisors.map((supervisor) => supervisor.stop()))
  })
}

/** Waits until a process of each service answers the operator. */
async function waitForServices({ config }: Run, natsUrl: string, signal: AbortSignal): Promise<void> {
  const services = SERVICES.filter((service) => config.replicas[service] > 0)
  const deadline = Date.now() + HEALTH_LIMIT_MS
  const logger = createLogger('stack', 'silent')
  const nats = await connectNats({ url: natsUrl, access: config.natsAccess, name: 'stack', logger, asOperator: true })
  try {
    for (let missing: string[] = services; missing.length > 0; ) {
      signal.throwIfAborted()
      const found = new Set((await listProcesses(nats, services)).map(({ service }) => service))
      missing = services.filter((service) => !found.has(service))
      if (missing.length > 0 && Date.now() > deadline)
        throw new StartError(`${missing.join(', ')} did not start in ${HEALTH_LIMIT_MS / 1000} s: see the log above.`)
    }
  } finally {
    await drainNats(nats, 1_000)
  }
}

/** Waits for a gateway's health, which covers every service. */
async function waitForHealth(url: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + HEALTH_LIMIT_MS
  let last = 'no answer'
  while (Date.now() < deadline) {
    signal.throwIfAborted()
    try {
      const { status } = await fetch(`${url}/v2/health`, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]),
      })
      if (status === 200) return
      last = `status ${status}`
    } catch {
      last = 'no answer'
    }
    await sleep(HEALTH_POLL_MS)
  }
  throw new StartError(
    `The gateway at ${url} is not healthy after ${HEALTH_LIMIT_MS / 1000} s (${last}): see the log above.`,
  )
}
