import type { NatsConfig } from '@svc/config/nats-access.ts'
import { parseNatsUrl } from '@svc/config/nats-url.ts'
import { connectNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { TlsError } from '@svc/tls/failure.ts'
import { codeOf, StartError } from '../start-error.ts'

const CONNECT_LIMIT_MS = 5_000

/**
 * Connects once to the NATS that the user named, because the services would wait for it without an end.
 * @throws StartError if NATS does not answer, refuses the user or fails at TLS.
 */
export async function checkNats({ natsUrl: url, natsAccess: access }: NatsConfig): Promise<void> {
  const logger = createLogger('local', 'silent')
  try {
    const { connection } = await connectNats({
      url,
      access,
      name: 'local stack',
      logger,
      firstConnectMs: CONNECT_LIMIT_MS,
    })
    await connection.close()
  } catch (error) {
    if (error instanceof TlsError) throw new StartError(error.message)
    const servers = parseNatsUrl(url).servers.join(', ')
    throw new StartError(`NATS at ${servers} cannot be used (${codeOf(error)}): see SVC_NATS_URL.`)
  }
}
