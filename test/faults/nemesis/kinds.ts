import { NETWORK_FAULTS } from '../proxy/faults.ts'
import type { Fault } from './fault.ts'
import { clockStep } from './faults/clock-step.ts'
import { fullNatsDisk, fullPostgresDisk } from './faults/disk-full.ts'
import { NATS_FAULTS, POSTGRES_FAULTS } from './faults/engines.ts'
import { failpoint } from './faults/failpoint.ts'
import { killProcess } from './faults/kill-process.ts'
import { freezeProcess, pauseProcess } from './faults/pause-process.ts'
import { endSessions, exhaustConnections, exhaustPool } from './faults/postgres.ts'
import { rollingRestart } from './faults/rolling-restart.ts'

/** Every kind of fault, in the order of the report. */
export const FAULTS: readonly Fault[] = [
  killProcess,
  pauseProcess,
  freezeProcess,
  failpoint,
  rollingRestart,
  clockStep,
  ...POSTGRES_FAULTS,
  endSessions,
  exhaustPool,
  exhaustConnections,
  fullPostgresDisk,
  ...NATS_FAULTS,
  fullNatsDisk,
  ...NETWORK_FAULTS,
]
