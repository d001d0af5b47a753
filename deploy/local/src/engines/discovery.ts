import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsConfig } from '@svc/config/nats-access.ts'
import { parseNatsUrl } from '@svc/config/nats-url.ts'
import { connectNats, type Nats } from '@svc/nats/connect.ts'
import { openInbox } from '@svc/nats/wire/inbox.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { TlsError } from '@svc/tls/failure.ts'
import { codeOf, StartError } from '../start-error.ts'

const CONNECT_LIMIT_MS = 5_000
const ANSWER_LIMIT_MS = 1_000
const POLL_MS = 30

/** Asks NATS which services are running, as `nats micro ping` does. */
interface Discovery extends AsyncDisposable {
  /** Settles when a process of the service accepts calls. @throws the reason of the aborted signal. */
  untilServed(service: string, signal: AbortSignal): Promise<void>
}

/** @throws StartError if NATS does not answer, refuses the user or fails at TLS. */
export async function openDiscovery(config: NatsConfig): Promise<Discovery> {
  const { connection, inboxPrefix } = await open(config)
  const inbox = openInbox(inboxPrefix)

  /** A failed request means that no process responds yet. */
  async function answers(service: string): Promise<boolean> {
    const options = { timeout: ANSWER_LIMIT_MS, noMux: true, reply: inbox.replyFrom(service) }
    return connection.request(`$SRV.PING.${service}`, undefined, options).then(
      () => true,
      () => false,
    )
  }

  return {
    async untilServed(service, signal) {
      while (!(await answers(service))) {
        signal.throwIfAborted()
        await sleep(POLL_MS)
      }
    },
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

async function open({ natsUrl: url, natsAccess: access }: NatsConfig): Promise<Nats> {
  const logger = createLogger('local', 'silent')
  try {
    return await connectNats({ url, access, name: 'local stack', logger, firstConnectMs: CONNECT_LIMIT_MS })
  } catch (error) {
    if (error instanceof TlsError) throw new StartError(error.message)
    const servers = parseNatsUrl(url).servers.join(', ')
    throw new StartError(`NATS at ${servers} cannot be used (${codeOf(error)}): see SVC_NATS_URL.`)
  }
}
