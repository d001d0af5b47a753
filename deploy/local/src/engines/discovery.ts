import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type NatsConnection } from 'nats'
import { codeOf, StartError } from '../start-error.ts'

const CONNECT_LIMIT_MS = 5_000
const ANSWER_LIMIT_MS = 1_000
const POLL_MS = 30

/** Asks NATS which services are running, as `nats micro ping` does. */
interface Discovery extends AsyncDisposable {
  /** Settles when a process of the service accepts calls. @throws the reason of the aborted signal. */
  untilServed(service: string, signal: AbortSignal): Promise<void>
}

/** @throws StartError if NATS does not answer or refuses the user. */
export async function openDiscovery(url: string): Promise<Discovery> {
  const connection = await open(url)
  return {
    async untilServed(service, signal) {
      while (!(await answers(connection, `$SRV.PING.${service}`))) {
        signal.throwIfAborted()
        await sleep(POLL_MS)
      }
    },
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

async function open(url: string): Promise<NatsConnection> {
  const servers = url.split(',').map((part) => new URL(part))
  const [user, pass] = [servers[0]?.username ?? '', servers[0]?.password ?? ''].map(decodeURIComponent)
  try {
    return await connect({
      servers: servers.map(({ host }) => host),
      ...(user && { user, pass: pass ?? '', inboxPrefix: `_INBOX_${user}` }),
      timeout: CONNECT_LIMIT_MS,
    })
  } catch (error) {
    const hosts = servers.map(({ host }) => host).join(', ')
    throw new StartError(`NATS at ${hosts} cannot be used (${codeOf(error)}): see SVC_NATS_URL.`)
  }
}

/** A failed request means that no process responds yet. */
async function answers(connection: NatsConnection, subject: string): Promise<boolean> {
  return connection.request(subject, undefined, { timeout: ANSWER_LIMIT_MS }).then(
    () => true,
    () => false,
  )
}
