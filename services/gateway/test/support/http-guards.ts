import { createLogger } from '@svc/telemetry/logger.ts'
import { Bodies } from '../../src/http/body.ts'
import { createClients } from '../../src/http/connections/client.ts'
import { parseAddressRange } from '../../src/http/connections/client-address.ts'
import { createConnectionRoom } from '../../src/http/connections/connection-limits.ts'
import type { ConnectionGuards } from '../../src/http/connections/connections.ts'
import { createReading } from '../../src/http/connections/reading.ts'
import { createLoad, type Load } from '../../src/http/load/load.ts'
import { createTurn } from '../../src/http/load/turn.ts'

interface GuardSetting {
  readonly trustedProxies?: readonly string[]
  readonly maxConnectionsPerClient?: number
  readonly maxConnections?: number
  readonly load?: Load
}

/** What a server of `createHttpApp` needs to guard its connections, for tests without a whole gateway. */
export function createGuards({
  trustedProxies = [],
  maxConnectionsPerClient = 1_000,
  maxConnections = 1_000,
  load = createLoad({ logger: createLogger('test', 'silent'), maxRequests: 10 }),
}: GuardSetting = {}): ConnectionGuards {
  const clients = createClients(trustedProxies.flatMap((text) => parseAddressRange(text) ?? []))
  const room = createConnectionRoom({ clients, maxConnectionsPerClient, maxConnections })
  const reading = createReading({ clients, room, turn: createTurn() })
  return { clients, room, reading, bodies: new Bodies({ load, reading }), count: () => 0 }
}
