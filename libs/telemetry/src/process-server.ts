import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigError } from '@svc/config/env-reader.ts'
import type { ProcessConfig } from '@svc/config/process.ts'
import type { Logger } from './logger.ts'
import { defineCount, defineLevel, renderMetrics, startMetrics } from './metrics.ts'

/** The probes of a process. Each returns the problems, in words for an operator; [] means that there are none. */
interface Probes {
  /** Problems of this process that a restart would solve. Ignores dependencies, because a restart does not repair them. */
  readonly live: () => readonly string[]
  /** Whether the process should get work now. */
  readonly ready: () => readonly string[] | Promise<readonly string[]>
}

interface ProcessServer extends AsyncDisposable {
  /** Undefined if the server does not listen. */
  readonly port: number | undefined
  /** Call when the process has started. From now on these probes answer. */
  started(probes: Probes): void
  /** Call when the process stops accepting work. */
  draining(): void
  /** Logs and counts an unhandled error. After this, the server closes only when its metrics were scraped once more. */
  noteUnhandled(error: unknown): void
}

interface ProcessServerOptions {
  readonly service: string
  readonly version: string
  readonly metrics: ProcessConfig['metrics']
  readonly logger: Logger
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly type?: string
  readonly onSent?: () => void
}

const readiness = defineLevel({
  name: 'agentmsg_ready',
  help: '1 if the process is ready for work, otherwise 0',
  labels: [],
})

const unhandled = defineCount({
  name: 'agentmsg_unhandled_errors_total',
  help: 'Exceptions and rejections that no code handled; the process drains and ends after the first',
  labels: [],
})

const REQUEST_LIMIT_MS = 5_000
/** The usual scrape interval. If the process ended before a scrape, the count would raise no alert. */
const LAST_SCRAPE_MS = 15_000
/** A hanging dependency counts as unavailable after this time. Shorter than a scrape's wait for a value (metrics.ts). */
const READY_LIMIT_MS = 1_500
const STARTING = ['starting']
const DRAINING = ['draining']

/**
 * Serves metrics and probes on a separate port: `GET /metrics`, and `/live`, `/ready` and `/started`, which answer 200 or
 * 503. Listens before anything else starts and until everything else has ended, so that a slow start or a slow drain is
 * visible. Meant for use inside a deployment; reveals nothing about any agent.
 */
export async function startProcessServer(options: ProcessServerOptions): Promise<ProcessServer> {
  const { metrics, logger } = options
  let probes: Probes = { live: () => [], ready: () => STARTING }
  let hasStarted = false
  let isScraped = false
  /** Resolves when metrics that include an unhandled error were scraped. */
  let lastScrape: PromiseWithResolvers<void> | undefined
  const port = metrics === undefined ? undefined : await listen(metrics)

  const control = {
    started(given: Probes): void {
      probes = given
      hasStarted = true
    },
    draining(): void {
      probes = { ...probes, ready: () => DRAINING }
    },
    noteUnhandled(error: unknown): void {
      const err = error instanceof Error ? error : new Error(`a thrown value of type ${typeof error}`)
      logger.error({ err }, 'unhandled error: the process drains and ends')
      unhandled.add({})
      // Without scrapes there is nothing to wait for.
      if (isScraped) lastScrape ??= Promise.withResolvers()
    },
  }
  if (port === undefined) return { ...control, port: undefined, [Symbol.asyncDispose]: async () => {} }
  startMetrics(options)
  const level = readiness.read(async () => [[{}, (await whatIsMissing(probes)).length === 0 ? 1 : 0]])
  logger.info({ host: metrics?.host, port: port.number }, 'metrics')
  return {
    ...control,
    port: port.number,
    async [Symbol.asyncDispose]() {
      if (lastScrape !== undefined) {
        const timer = setTimeout(lastScrape.resolve, LAST_SCRAPE_MS)
        await lastScrape.promise
        clearTimeout(timer)
      }
      level[Symbol.dispose]()
      await port.close()
    },
  }

  async function listen({ host, port: wanted }: { host: string; port: number }) {
    const server = createServer(
      { headersTimeout: REQUEST_LIMIT_MS, requestTimeout: REQUEST_LIMIT_MS },
      (request, response) => {
        answerTo(request.url ?? '').then(
          (answer) =>
            write(response, request.method === 'GET' ? answer : { status: 405, text: 'only GET is allowed\n' }),
          (error: unknown) => {
            logger.error({ err: error }, 'metrics could not be read')
            write(response, { status: 500, text: '' })
          },
        )
      },
    )
    server.listen(wanted, host)
    try {
      await once(server, 'listening')
    } catch (error) {
      throw new ConfigError(`SVC_METRICS_PORT ${wanted} on ${host} cannot be listened on`, { cause: error })
    }
    return {
      number: (server.address() as AddressInfo).port,
      async close() {
        const closed = once(server, 'close')
        server.close()
        server.closeAllConnections()
        await closed
      },
    }
  }

  async function answerTo(target: string): Promise<Answer> {
    switch (target.split('?', 1)[0]) {
      case '/metrics': {
        isScraped = true
        const last = lastScrape
        return { status: 200, ...(await renderMetrics()), onSent: () => last?.resolve() }
      }
      case '/live':
        return probeAnswer(probes.live())
      case '/ready':
        return probeAnswer(await whatIsMissing(probes))
      case '/started':
        return probeAnswer(hasStarted ? [] : STARTING)
      default:
        return { status: 404, text: 'metrics, live, ready, started\n' }
    }
  }
}

async function whatIsMissing({ ready }: Probes): Promise<readonly string[]> {
  const late = Promise.withResolvers<readonly string[]>()
  const timer = setTimeout(() => late.resolve(['no answer in time']), READY_LIMIT_MS)
  try {
    return await Promise.race([ready(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function probeAnswer(wrong: readonly string[]): Answer {
  return wrong.length === 0 ? { status: 200, text: 'ok\n' } : { status: 503, text: `${wrong.join('\n')}\n` }
}

function write(response: ServerResponse, { status, text, type = 'text/plain; charset=utf-8', onSent }: Answer): void {
  if (onSent !== undefined) response.once('close', onSent)
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text)
}
