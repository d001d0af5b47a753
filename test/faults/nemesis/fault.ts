import type { Random } from '../workload/random.ts'
import type { FaultSystem } from './fault-system.ts'

/**
 * One kind of fault. To add a kind, export a `Fault` from a file of test/faults and add a line to kinds.ts.
 *
 * Faults of the same target never overlap. Faults of different targets do.
 */
export interface Fault {
  /** The name in counts and reports: `kill-process`. */
  readonly name: string
  readonly target: 'processes' | 'postgres' | 'nats' | 'network'
  /** The fault lasts for a random time in this range; 0 if it is instantaneous. */
  readonly holdMs: readonly [number, number]
  /** How often this kind is chosen, relative to other kinds of its target; 1 by default. */
  readonly weight?: number
  /**
   * Starts the fault. If the fault is impossible now, it throws and leaves nothing behind. It uses `random` before its
   * first await, so that the seed determines the fault.
   */
  inject(system: FaultSystem, random: Random): Promise<Injected>
}

export interface Injected {
  /** What the fault hit: `messaging-2`. */
  readonly detail: string
  /** Ends the fault. Resolves when the broken part works again, or will recover without help. */
  heal(): Promise<void>
}

/** The end of a fault that is instantaneous. */
export const HEALED = async (): Promise<void> => {}
