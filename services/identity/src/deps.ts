import type { KeyObject } from 'node:crypto'
import type { Batcher } from '@svc/batching/batcher.ts'
import type { Charging } from '@svc/charging/charging.ts'
import type { Operations } from '@svc/charging/operations.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Admission, Admitted } from './store/nonces.ts'
import type { AgentReaders } from './store/readers.ts'

/** What the handlers work with; each names the part of it that it needs. */
export interface IdentityDeps {
  readonly database: Database
  /** To messaging and webhook, and to budget through `charging`. */
  readonly bus: Bus
  readonly charging: Charging
  /** What was paid for, recorded beside it. */
  readonly operations: Operations
  readonly readers: AgentReaders
  readonly admit: Batcher<Admission, Admitted>
  readonly authority: string
  /** Leading zero bits that new challenges ask for. */
  readonly powDifficulty: number
  /** The first makes challenges, all are believed. */
  readonly challengeKeys: readonly [KeyObject, ...KeyObject[]]
}
