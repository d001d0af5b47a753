import type { KeyObject } from 'node:crypto'
import type { Batcher } from '@svc/batching/batcher.ts'
import type { Charging } from '@svc/charging/charging.ts'
import type { Operations } from '@svc/charging/operations.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { SecurityLog } from '@svc/telemetry/security-log.ts'
import type { Admission, Admitted } from './store/nonces.ts'
import type { AgentReaders } from './store/readers.ts'

/** Everything that handlers may need. Each handler picks the parts that it uses. */
export interface IdentityDeps {
  readonly database: Database
  /** For calls to messaging and webhook, and through `charging` to budget. */
  readonly bus: Bus
  readonly charging: Charging
  /** Records which paid changes took effect, in the transaction of the change. */
  readonly operations: Operations
  readonly readers: AgentReaders
  readonly admit: Batcher<Admission, Admitted>
  readonly security: SecurityLog<'registration' | 'revocation'>
  readonly authority: string
  /** Whether a new agent may not have this name, because it is reserved or looks like a reserved name. */
  readonly isReserved: (name: string) => boolean
  /** Leading zero bits that new challenges ask for. */
  readonly powDifficulty: number
  /** The first key makes new challenges; a challenge made with any of the keys is accepted. */
  readonly challengeKeys: readonly [KeyObject, ...KeyObject[]]
}
