import type { Fault } from './fault.ts'
import { killProcess } from './kill-process.ts'
import { pauseProcess } from './pause-process.ts'

/** Every kind of fault, in the order of the report. */
export const FAULTS: readonly Fault[] = [killProcess, pauseProcess]
