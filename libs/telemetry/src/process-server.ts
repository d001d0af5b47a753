import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigError } from '@svc/config/env-reader.ts'
import { listenHost } from '@svc/config/host.ts'
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
  const server = new ProcessServer(options)
  await server.listen()
  return server
}

class ProcessServer implements AsyncDisposable {
  readonly #options: ProcessServerOptions
  readonly #http: Server
  #readiness: Disposable | undefined
  #probes: Probes = { live: () => [], ready: () => STARTING }
  #hasStarted = false
  #isScraped = false
  /** Resolves when metrics that include an unhandled error were scraped. */
  #lastScrape: PromiseWithResolvers<void> | undefined

  constructor(options: ProcessServerOptions) {
    this.#options = options
    this.#http = createServer(
      { headersTimeout: REQUEST_LIMIT_MS, requestTimeout: REQUEST_LIMIT_MS },
      (request, response) => void this.#respond(request, response),
    )
  }

  /** Undefined if the server does not listen. */
  get port(): number | undefined {
    return (this.#http.address() as AddressInfo | null)?.port
  }

  /** @throws ConfigError if the configured port cannot be listened on. */
  async listen(): Promise<void> {
    const { metrics, logger } = this.#options
    if (metrics === undefined) return
    const { host, port } = metrics
    this.#http.listen(port, listenHost(host))
    try {
      await once(this.#http, 'listening')
    } catch (error) {
      throw new ConfigError(`SVC_METRICS_PORT ${port} on ${host} cannot be listened on`, { cause: error })
    }
    startMetrics(this.#options)
    this.#readiness = readiness.read(async () => [[{}, (await whatIsMissing(this.#probes)).length === 0 ? 1 : 0]])
    logger.info({ host, port: this.port }, 'metrics')
  }

  /** Call when the process has started. From now on these probes answer. */
  started(probes: Probes): void {
    this.#probes = probes
    this.#hasStarted = true
  }

  /** Call when the process stops accepting work. */
  draining(): void {
    this.#probes = { ...this.#probes, ready: () => DRAINING }
  }

  /** Logs and counts an unhandled error. After this, the server closes only when its metrics were scraped once more. */
  noteUnhandled(error: unknown): void {
    const err = error instanceof Error ? error : new Error(`a thrown value of type ${typeof error}`)
    this.#options.logger.error({ err }, 'unhandled error: the process drains and ends')
    unhandled.add({})
    // Without scrapes there is nothing to wait for.
    if (this.#isScraped) this.#lastScrape ??= Promise.withResolvers()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#http.listening) return
    if (this.#lastScrape !== undefined) {
      const timer = setTimeout(this.#lastScrape.resolve, LAST_SCRAPE_MS)
      await this.#lastScrape.promise
      clearTimeout(timer)
    }
    this.#readiness?.[Symbol.dispose]()
    const closed = once(this.#http, 'close')
    this.#http.close()
    this.#http.closeAllConnections()
    await closed
  }

  async #respond({ url = '', method }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#answerTo(url)
      write(response, method === 'GET' ? answer : { status: 405, text: 'only GET is allowed\n' })
    } catch (error) {
      this.#options.logger.error({ err: error }, 'metrics could not be read')
      write(response, { status: 500, text: '' })
    }
  }

  async #answerTo(target: string): Promise<Answer> {
    switch (target.split('?', 1)[0]) {
      case '/metrics': {
        this.#isScraped = true
        const last = this.#lastScrape
        return { status: 200, ...(await renderMetrics()), onSent: () => last?.resolve() }
      }
      case '/live':
        return probeAnswer(this.#probes.live())
      case '/ready':
        return probeAnswer(await whatIsMissing(this.#probes))
      case '/started':
        return probeAnswer(this.#hasStarted ? [] : STARTING)
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
