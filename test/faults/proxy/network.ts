import { findFreePort } from '@svc/local/engines/ports.ts'
import { SERVICES, type ServiceName, STORES } from '@svc/local/topology.ts'
import type { SystemOptions } from '../../support/system/system.ts'
import { type Link, startLink } from './link.ts'

/** The server that a process connects to. `stream` is the HTTP port from which gateways fetch a process's streams. */
type Far = 'postgres' | 'nats' | 'stream'

/** Selects links by process or service, and by server. Default: all links. */
export interface Where {
  /** `messaging-1`, or `messaging` for all its processes. For `stream`, the process that serves the stream. */
  readonly of?: string
  readonly to?: Far
}

/** The network of a system: one link for each pair of a process and a server that it connects to. */
export interface Network extends AsyncDisposable {
  /** Options to start the system with. */
  readonly options: Required<Pick<SystemOptions, 'databaseUrl' | 'natsUrl' | 'envOf'>>
  /** @throws RangeError if no link matches. */
  links(where?: Where): Link[]
  /** Ends all faults. Connections that were closed stay closed. */
  heal(): Promise<void>
}

/** @param replicas processes of each service; 2 by default. */
export async function startNetwork(replicas: Partial<Record<ServiceName, number>> = {}): Promise<Network> {
  await using started = new AsyncDisposableStack()
  const links = new Map<string, Link>()
  const envOf: Record<string, NodeJS.ProcessEnv> = {}
  for (const service of SERVICES) {
    for (let index = 1; index <= (replicas[service] ?? 2); index += 1) {
      const name = `${service}-${index}`
      links.set(keyOf(name, 'nats'), started.use(await startLink()))
      if (STORES.some((store) => store === service)) links.set(keyOf(name, 'postgres'), started.use(await startLink()))
      if (service !== 'stream') continue
      const behind = await findFreePort()
      const link = started.use(await startLink())
      link.through(`http://127.0.0.1:${behind}`)
      links.set(keyOf(name, 'stream'), link)
      envOf[name] = { SVC_STREAM_PORT: String(behind), SVC_STREAM_ADVERTISED_PORT: String(link.port) }
    }
  }
  const running = started.move()
  return {
    options: {
      databaseUrl: (url, name) => linkOf(name, 'postgres').through(url),
      natsUrl: (url, name) => linkOf(name, 'nats').through(url),
      envOf,
    },
    links({ of, to } = {}) {
      const found = [...links].filter(([key]) => {
        const [name = '', far] = key.split(' ')
        return (to === undefined || far === to) && (of === undefined || name === of || name.startsWith(`${of}-`))
      })
      if (found.length === 0) throw new RangeError(`there is no link from ${of} to ${to}`)
      return found.map(([, link]) => link)
    },
    async heal() {
      await Promise.all([...links.values()].map((link) => link.heal()))
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }

  function linkOf(name: string, to: Far): Link {
    const link = links.get(keyOf(name, to))
    if (link === undefined) throw new RangeError(`there is no link from ${name} to ${to}`)
    return link
  }
}

function keyOf(name: string, to: Far): string {
  return `${name} ${to}`
}
