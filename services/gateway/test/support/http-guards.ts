import { createClients } from '../../src/http/connections/client.ts'
import { parseAddressRange } from '../../src/http/connections/client-address.ts'
import { createConnectionRoom } from '../../src/http/connections/connection-limits.ts'
import type { ConnectionGuards } from '../../src/http/connections/connections.ts'
import { createReading } from '../../src/http/connections/reading.ts'
import { createTurn } from '../../src/http/load/turn.ts'

interface GuardSetting {
  readonly trustedProxies?: readonly string[]
  readonly maxConnectionsPerClient?: number
  readonly maxConnections?: number
}

/** What a server of `createHttpApp` needs to guard its connections, for tests without a whole gateway. */
export function createGuards({
  trustedProxies = [],
  maxConnectionsPerClient = 1_000,
  maxConnections = 1_000,
}: GuardSetting = {}): ConnectionGuards {
  const clients = createClients(trustedProxies.flatMap((text) => parseAddressRange(text) ?? []))
  const room = createConnectionRoom({ clients, maxConnectionsPerClient, maxConnections })
  return { clients, room, reading: createReading({ clients, room, turn: createTurn() }), count: () => 0 }
}
