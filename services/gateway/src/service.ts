/**
 * The gateway is stateless and owns no data.
 * Scale: any number of processes behind any load balancer. Between requests a process keeps only caches that cannot go
 * stale, and request rates. All gateways count the rates together, and none keeps them for long.
 * Limit: CPU. HTTP takes one core per process, and signatures take up to half of another core.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '@svc/config/env-reader.ts'
import { createChannel } from '@svc/nats/channel.ts'
import type { RunningService } from '@svc/service/run-service.ts'
import { startProcess } from '@svc/service/start-process.ts'
import { assertVerifier } from '@svc/svc1/node/assert-verifier.ts'
import { logEngine } from '@svc/svc1/node/engine.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import type { FastifyInstance } from 'fastify'
import { announceGateway } from './announce.ts'
import { createManifest } from './api/manifest.ts'
import { describeApi } from './api/openapi.ts'
import type { Operation } from './api/operation.ts'
import { createDirectory } from './auth/directory.ts'
import { createVerifier } from './auth/verifier.ts'
import type { GatewayConfig } from './config.ts'
import { Bodies } from './http/body.ts'
import { type Listening, listen } from './http/connections/acceptors.ts'
import { createClients } from './http/connections/client.ts'
import { createConnectionRoom } from './http/connections/connection-limits.ts'
import { createReading } from './http/connections/reading.ts'
import { createLoad } from './http/load/load.ts'
import { Outflow } from './http/load/outflow.ts'
import { createRequestTurns } from './http/load/request-turns.ts'
import { createTurn } from './http/load/turn.ts'
import { createStreams } from './http/streams.ts'
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
      const gateways = stack.use(await startGateways(createChannel(nats), logger))
      const directory = createDirectory(bus)
      const verifier = stack.use(createVerifier({ logger }))
      const participants = createParticipants({ directory, authority: config.authority })
      const streams = createStreams({ bus, logger })

      const clients = createClients(config.trustedProxies, logger)
      const { maxRequests, maxConnectionsPerClient } = config
      const load = createLoad({ logger, maxRequests })
      const turn = createTurn()
      const room = createConnectionRoom({ clients, maxConnectionsPerClient })
      const reading = createReading({ clients, room, turn })
      const bodies = new Bodies({ load, reading })
      const limiter = new RateLimiter({ limit: 'requests', rate: config.rate, gateways })

      const described = createOperations({
        bus,
        directory,
        participants,
        streams,
        manifest: createManifest(config),
        isReady: () => !draining,
      })
      const openApi = openApiRoute(describeApi(described))

      const app = createHttpApp({
        operations: [
          ...described,
          openApi,
          ...docsRoutes(),
          ...(config.console === undefined ? [] : consoleRoutes(config.console)),
        ],
        pipeline: createPipeline({
          bus,
          directory,
          verifier,
          authority: config.authority,
          limiter,
          registrationLimiter: new RateLimiter({ limit: 'registrations', rate: config.registrationRate, gateways }),
          clients,
          load,
          turns: createRequestTurns(turn),
          bodies,
        }),
        clients,
        room,
        reading,
        bodies,
        count: (client) => limiter.takeRequest(client),
        load,
        outflow: stack.use(new Outflow({ maxRequests, onProgress: room.touch })),
        corsOrigins: config.corsOrigins,
        logger,
        isDraining: () => draining,
      })
      let listening: Listening | undefined
      stack.defer(() => closeApp(app, () => listening?.close()))
      stack.use(streams)
      const serving = await announceGateway({ nats, server: app.server, logger, isReady: () => !draining })
      stack.defer(() => serving.drain())
      listening = await listenFor(app, config)
      port = listening.port
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

async function listenFor(app: FastifyInstance, { httpHost, httpPort }: GatewayConfig): Promise<Listening> {
  await app.ready()
  try {
    return await listen(app.server, { host: httpHost, port: httpPort })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new ConfigError(`SVC_HTTP_PORT ${httpPort} on ${httpHost} is in use`, { cause: error })
    throw error
  }
}

/** Stops listening at once, finishes what was begun, and closes each connection after its last answer. */
async function closeApp(app: FastifyInstance, stopListening: () => Promise<void> | undefined): Promise<void> {
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
  const limit = setTimeout(() => app.server.closeAllConnections(), DRAIN_LIMIT_MS)
  await stopListening()
  await app.close()
  clearInterval(sweep)
  clearTimeout(limit)
}
