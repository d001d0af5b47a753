import type { NatsConfig } from '@svc/config/nats-access.ts'
import type { ProcessConfig } from '@svc/config/process.ts'
import { SERVICE } from '@svc/contracts/limits.ts'
import { type Bus, createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { startProcessServer } from '@svc/telemetry/process-server.ts'
import { startTracing } from '@svc/telemetry/start-tracing.ts'
import type { RunningService } from './run-service.ts'

/** What the parts of a process are started with. */
interface ProcessDeps {
  readonly nats: Nats
  /** For calls to other services. */
  readonly bus: Bus
  /** Everything that the process starts. Stopped in the opposite order. */
  readonly stack: AsyncDisposableStack
}

interface ProcessParts {
  /** Problems of this process that a restart would solve; [] if there are none. */
  readonly live: () => readonly string[]
  /** Why this process should get no work now; [] if it should. */
  readonly ready: () => readonly string[] | Promise<readonly string[]>
  /** Each settles, with the reason, when the process can no longer work. */
  readonly failed?: readonly Promise<unknown>[]
  /** Called when the process begins to stop, before its parts are stopped. */
  readonly beforeStop?: () => Promise<void>
  /** For the log, with the line `ready`. */
  readonly facts?: object
}

interface ProcessOptions {
  readonly name: string
  readonly config: NatsConfig & { readonly process?: ProcessConfig }
  readonly logger: Logger
  readonly start: (deps: ProcessDeps) => Promise<ProcessParts>
}

/**
 * The life of every service's process: metrics and probes, traces, NATS, its own parts, in this order. On shutdown it stops in the
 * opposite order, so probes and metrics answer until everything else has ended.
 */
export async function startProcess(options: ProcessOptions): Promise<RunningService> {
  const { name, config, logger, start } = options
  const stack = new AsyncDisposableStack()
  try {
    const watched = { service: name, version: SERVICE.version, metrics: config.process?.metrics, logger }
    const server = stack.use(await startProcessServer(watched))
    stack.use(await startTracing({ ...watched, tracing: config.process?.tracing }))
    const nats = stack.adopt(
      await connectNats({ url: config.natsUrl, access: config.natsAccess, name: `svc-${name}`, logger }),
      drainNats,
    )
    const parts = await start({ nats, bus: stack.use(createBus(nats)), stack })
    server.started(parts)
    logger.info(parts.facts ?? {}, 'ready')
    return {
      failed: Promise.race([
        nats.connection.closed().then((error) => error ?? new Error('the connection to NATS was closed')),
        ...(parts.failed ?? []),
      ]),
      noteUnhandled: (error) => server.noteUnhandled(error),
      async [Symbol.asyncDispose]() {
        logger.info('draining')
        server.draining()
        await parts.beforeStop?.()
        await stack.disposeAsync()
        logger.info('stopped')
      },
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}
