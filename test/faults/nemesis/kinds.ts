import { NETWORK_FAULTS } from '../proxy/faults.ts'
import type { Fault } from './fault.ts'
import { clockStep } from './faults/clock-step.ts'
import { fullNatsDisk, fullPostgresDisk } from './faults/disk-full.ts'
import { failpoint } from './faults/failpoint.ts'
import { killProcess } from './faults/kill-process.ts'
import { killNats, pauseNats, restartNats, wipeNats } from './faults/nats.ts'
import { freezeProcess, pauseProcess } from './faults/pause-process.ts'
import {
  endSessions,
  exhaustConnections,
  exhaustPool,
  freezePostgres,
  killPostgres,
  pausePostgres,
  restartPostgres,
} from './faults/postgres.ts'
import { rollingRestart } from './faults/rolling-restart.ts'

/** Every kind of fault, in the order of the report. */
export const FAULTS: readonly Fault[] = [
  killProcess,
  pauseProcess,
  freezeProcess,
  failpoint,
  rollingRestart,
  clockStep,
  killPostgres,
  restartPostgres,
  pausePostgres,
  freezePostgres,
  endSessions,
  exhaustPool,
  exhaustConnections,
  fullPostgresDisk,
  killNats,
  restartNats,
  pauseNats,
  wipeNats,
  fullNatsDisk,
  ...NETWORK_FAULTS,
]
