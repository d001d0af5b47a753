import { findFreePort } from '@svc/local/engines/ports.ts'
import { SERVICES, type ServiceName, STORES } from '@svc/local/topology.ts'
import type { SystemOptions } from '../../support/system/system.ts'
import { type Link, startLink } from './link.ts'

/** What processes connect to. `stream` is how gateways fetch streams from a process of that service. */
type Far = 'postgres' | 'nats' | 'stream'

/** Which links: those of these processes or services, to these servers; all of them where nothing is said. */
export interface Where {
  /** `messaging-1`, or `messaging` for each of its processes. For `stream` this is the process that is fetched from. */
  readonly of?: string
  readonly to?: Far
}

/** The network of a system: a link for each process and each server that it connects to. */
export interface Network extends AsyncDisposable {
  /** What the system is to be started with. */
  readonly options: Required<Pick<SystemOptions, 'databaseUrl' | 'natsUrl' | 'envOf'>>
  /** @throws RangeError where there is none. */
  links(where?: Where): Link[]
  /** Everything is as in the beginning, but for connections that were ended. */
  heal(): Promise<void>
}

/** @param replicas of each service; two where nothing is said. */
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
      if (found.length === 0) throw new RangeError(`no link of ${of} to ${to}`)
      return found.map(([, link]) => link)
    },
    async heal() {
      await Promise.all([...links.values()].map((link) => link.heal()))
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }

  function linkOf(name: string, to: Far): Link {
    const link = links.get(keyOf(name, to))
    if (link === undefined) throw new RangeError(`no link of ${name} to ${to}`)
    return link
  }
}

function keyOf(name: string, to: Far): string {
  return `${name} ${to}`
}
