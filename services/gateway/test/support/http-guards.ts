import { createLogger } from '@svc/telemetry/logger.ts'
import { Bodies } from '../../src/http/body.ts'
import { createClients } from '../../src/http/connections/client.ts'
import { parseAddressRange } from '../../src/http/connections/client-address.ts'
import type { ConnectionGuards } from '../../src/http/connections/connections.ts'
import { Load } from '../../src/http/load/load.ts'

interface GuardSetting {
  readonly trustedProxies?: readonly string[]
  readonly maxConnectionsPerClient?: number
  readonly load?: Load
}

/** What a server of `createHttpApp` needs to guard its connections, for tests without a whole gateway. */
export function createGuards({
  trustedProxies = [],
  maxConnectionsPerClient = 1_000,
  load = new Load({ logger: createLogger('test', 'silent'), maxRequests: 10 }),
}: GuardSetting = {}): ConnectionGuards {
  const clients = createClients(trustedProxies.flatMap((text) => parseAddressRange(text) ?? []))
  return { clients, bodies: new Bodies(load), maxConnectionsPerClient, count: () => 0 }
}
