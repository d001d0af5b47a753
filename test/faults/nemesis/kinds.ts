import { NETWORK_FAULTS } from '../proxy/faults.ts'
import { clockStep } from './clock-step.ts'
import { fullNatsDisk, fullPostgresDisk } from './disk-full.ts'
import { failpoint } from './failpoint.ts'
import type { Fault } from './fault.ts'
import { killProcess } from './kill-process.ts'
import { killNats, pauseNats, restartNats, wipeNats } from './nats.ts'
import { freezeProcess, pauseProcess } from './pause-process.ts'
import {
  endSessions,
  exhaustConnections,
  exhaustPool,
  freezePostgres,
  killPostgres,
  pausePostgres,
  restartPostgres,
} from './postgres.ts'
import { rollingRestart } from './rolling-restart.ts'

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
