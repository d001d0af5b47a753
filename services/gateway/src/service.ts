/**
 * The gateway is stateless and owns no data.
 * Scale: any number of processes behind any load balancer. Between requests a process keeps only caches that cannot go
 * stale, and request rates. All gateways count the rates together, and none keeps them for long.
 * Limit: CPU. HTTP takes one core per process, and signatures take up to half of another core.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '@svc/config/env-reader.ts'
import { listenHost } from '@svc/config/host.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { createChannel } from '@svc/nats/channel.ts'
import type { Nats } from '@svc/nats/connect.ts'
import type { RunningService } from '@svc/service/run-service.ts'
import { startProcess } from '@svc/service/start-process.ts'
import { assertVerifier } from '@svc/svc1/node/assert-verifier.ts'
import { logEngine } from '@svc/svc1/node/engine.ts'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { createSecurityLog } from '@svc/telemetry/security-log.ts'
import type { FastifyInstance } from 'fastify'
import { announceGateway } from './announce.ts'
import { createManifest } from './api/manifest.ts'
import { describeApi } from './api/openapi.ts'
import type { Operation } from './api/operation.ts'
import { createDirectory } from './auth/directory.ts'
import { RefusedSignatures } from './auth/refused-signatures.ts'
import { createVerifier } from './auth/verifier.ts'
import type { GatewayConfig } from './config.ts'
import { Bodies } from './http/body.ts'
import { createClients } from './http/connections/client.ts'
import { Load } from './http/load/load.ts'
import { Outflow } from './http/load/outflow.ts'
import { createStreams, type Streams } from './http/streams.ts'
import { createHttpApp } from './http-app.ts'
import { createPipeline } from './pipeline.ts'
import { startGateways } from './rates/gateways.ts'
import { RateLimiter } from './rates/rate-limit.ts'
import { agentRoutes } from './routes/agents.ts'
import { boardRoutes } from './routes/boards.ts'
import { budgetRoutes } from './routes/budget.ts'
import { consoleRoutes } from './routes/console.ts'
import { type ContactDeps, contactRoutes } from './routes/contacts.ts'
import { type ManifestDeps, manifestRoute, openApiRoute } from './routes/discovery.ts'
import { docsRoutes } from './routes/docs.ts'
import { eventRoutes } from './routes/events.ts'
import { exportRoutes } from './routes/export.ts'
import { type HealthDeps, healthRoutes } from './routes/health.ts'
import { homeRoute } from './routes/home.ts'
import { inboxRoutes } from './routes/inbox.ts'
import { meRoutes } from './routes/me.ts'
import { messageRoutes } from './routes/messages.ts'
import { postRoutes } from './routes/posts.ts'
import { registrationRoutes } from './routes/registration.ts'
import { type StreamDeps, streamRoutes } from './routes/stream.ts'
import { webhookRoutes } from './routes/webhook.ts'
import { createParticipants } from './send/participants.ts'
import type { SendDeps } from './send/send-message.ts'

interface RunningGateway extends RunningService {
  /** The port that the gateway listens on. */
  readonly port: number
}

/**
 * Requests in progress are answered within 5 s. Any connection left after that has a client that does not read or send.
 */
const DRAIN_LIMIT_MS = 8_000
const IDLE_SWEEP_MS = 100
/** Connections that the kernel queues until this process accepts them. Clients beyond that retry after 1 s, then 2 s, then 4 s. */
const BACKLOG = 4_096

export async function startGateway(
  config: GatewayConfig,
  logger = createLogger('gateway', config.process.logLevel),
): Promise<RunningGateway> {
  assertVerifier()
  logEngine(logger)
  let draining = false
  let port = 0
  const running = await startProcess({
    name: 'gateway',
    config,
    logger,
    async start({ nats, bus, stack }) {
      const { app, streams } = await createApp({ nats, bus, stack, config, logger, isDraining: () => draining })
      stack.defer(() => closeApp(app))
      stack.use(streams)
      const serving = await announceGateway({ nats, server: app.server, logger, isReady: () => !draining })
      stack.defer(() => serving.drain())
      await listenFor(app, config)
      port = (app.server.address() as AddressInfo).port
      return {
        live: () => [],
        // Each gateway is ready by itself. If all gateways became unready because a service is down, clients would get no
        // answer at all.
        ready: () => (nats.isConnected() ? [] : ['NATS is not connected']),
        async beforeStop() {
          draining = true
          // Keep listening until load balancers have seen that we are not ready. The kernel resets every connection that
          // is still in the backlog when we stop listening, and no server can prevent that.
          await sleep(config.drainSeconds * 1_000)
        },
        facts: { host: config.httpHost, port },
      }
    },
  })
  return { ...running, port }
}

interface AppDeps {
  readonly nats: Nats
  readonly bus: Bus
  readonly stack: AsyncDisposableStack
  readonly config: GatewayConfig
  readonly logger: Logger
  readonly isDraining: () => boolean
}

/** Connects the rooms of the gateway. What must end with the process is in the stack; the app and the streams end before it. */
async function createApp(deps: AppDeps): Promise<{ app: FastifyInstance; streams: Streams }> {
  const { nats, bus, stack, config, logger, isDraining } = deps
  const { authority, maxRequests, maxConnectionsPerClient, corsOrigins } = config
  const gateways = stack.use(await startGateways(createChannel(nats), logger))
  const directory = createDirectory(bus)
  const streams = createStreams({ bus, logger })
  const clients = createClients(config.trustedProxies, logger)
  const load = new Load({ logger, maxRequests })
  const bodies = new Bodies(load)
  const limiter = new RateLimiter({ limit: 'requests', rate: config.rate, gateways })
  const registrationLimiter = new RateLimiter({ limit: 'registrations', rate: config.registrationRate, gateways })
  const verifier = stack.use(createVerifier({ logger }))
  const security = createSecurityLog({ logger, isOn: config.securityLog, events: ['signatures_refused'] })
  const refused = stack.use(new RefusedSignatures(security))

  const described = createOperations({
    bus,
    directory,
    participants: createParticipants({ directory, authority }),
    streams,
    manifest: createManifest(config),
    isReady: () => !isDraining(),
  })
  const home = homeRoute({ hasConsole: config.console !== undefined })
  const documents = [openApiRoute(describeApi(described)), home, ...docsRoutes()]
  const app = createHttpApp({
    operations: [...described, ...documents, ...(config.console === undefined ? [] : consoleRoutes(config.console))],
    pipeline: createPipeline({
      bus,
      directory,
      verifier,
      refused,
      authority,
      limiter,
      registrationLimiter,
      clients,
      load,
      bodies,
    }),
    clients,
    bodies,
    maxConnectionsPerClient,
    count: (client) => limiter.takeRequest(client),
    load,
    outflow: stack.use(new Outflow({ maxRequests })),
    corsOrigins,
    logger,
    isDraining,
  })
  return { app, streams }
}

/** Every operation of the API, and the manifest. The routes and the OpenAPI description are both built from this list. */
export function createOperations(deps: ManifestDeps & HealthDeps & ContactDeps & SendDeps & StreamDeps): Operation[] {
  return [
    manifestRoute(deps),
    ...healthRoutes(deps),
    ...registrationRoutes(deps),
    ...agentRoutes(deps),
    ...meRoutes(deps),
    ...budgetRoutes(deps),
    ...contactRoutes(deps),
    ...boardRoutes(deps),
    ...postRoutes(deps),
    ...messageRoutes(deps),
    ...inboxRoutes(deps),
    ...exportRoutes(deps),
    ...eventRoutes(deps),
    ...webhookRoutes(deps),
    ...streamRoutes(deps),
  ]
}

async function listenFor(app: FastifyInstance, { httpHost, httpPort }: GatewayConfig): Promise<void> {
  await app.ready()
  try {
    app.server.listen(httpPort, listenHost(httpHost), BACKLOG)
    await once(app.server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new ConfigError(`SVC_HTTP_PORT ${httpPort} on ${httpHost} is in use`, { cause: error })
    throw error
  }
}

/** Stops listening at once, finishes what was begun, and closes each connection after its last answer. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
  const limit = setTimeout(() => app.server.closeAllConnections(), DRAIN_LIMIT_MS)
  await new Promise((resolve) => app.server.close(resolve))
  await app.close()
  clearInterval(sweep)
  clearTimeout(limit)
}
