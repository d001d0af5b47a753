import type { Random } from '../workload/random.ts'
import type { FaultSystem } from './fault-system.ts'

/**
 * One kind of fault: a file of this folder (or of another one of test/faults) that exports one, and a line in kinds.ts.
 *
 * Kinds of one target are never under way together; those of different targets are.
 */
export interface Fault {
  /** As it is counted and reported: `kill-process`. */
  readonly name: string
  readonly target: 'processes' | 'postgres' | 'nats' | 'network'
  /** How long it lasts, drawn between these; 0 where it is over at once. */
  readonly holdMs: readonly [number, number]
  /** How often it is drawn, beside the others of its target; 1 where nothing is said. */
  readonly weight?: number
  /**
   * Begins it; may throw where it cannot be done now, and then has left nothing behind.
   * Draws from `random` before it waits for anything, so that a seed says what is done.
   */
  inject(system: FaultSystem, random: Random): Promise<Injected>
}

export interface Injected {
  /** What was hit, in few words: `messaging-2`. */
  readonly detail: string
  /** Ends it. Settles when what was broken is there again, or on its way back by itself. */
  heal(): Promise<void>
}

/** For faults that are over as soon as they are there. */
export const HEALED = async (): Promise<void> => {}
