import { setTimeout as sleep } from 'node:timers/promises'
import type { History } from '../history/history.ts'
import type { Random } from '../workload/random.ts'
import type { Fault } from './fault.ts'
import type { FaultSystem } from './fault-system.ts'

interface NemesisOptions {
  readonly system: FaultSystem
  readonly faults: readonly Fault[]
  readonly random: Random
  readonly history: History
}

interface Nemesis {
  /** Ends the current faults and starts no more. Resolves when everything has recovered. */
  stop(): Promise<void>
}

/**
 * Pause between two faults of the same target. Engines pause longer: while an engine is down, other faults only hit
 * processes that wait for it.
 */
const PAUSE_MS: Record<Fault['target'], readonly [number, number]> = {
  processes: [800, 4_000],
  postgres: [5_000, 18_000],
  nats: [5_000, 18_000],
  network: [4_000, 14_000],
}
const TARGETS = Object.keys(PAUSE_MS) as Fault['target'][]

/** Injects faults until stopped. The faults of one target follow each other; all targets have faults at the same time. */
export function startNemesis({ system, faults, random, history }: NemesisOptions): Nemesis {
  const stop = new AbortController()
  const done = Promise.all(TARGETS.map((target) => haunt(target, random.fork(target))))

  return {
    async stop() {
      stop.abort()
      await done
    },
  }

  async function haunt(target: Fault['target'], draw: Random): Promise<void> {
    const kinds = faults.filter((fault) => fault.target === target)
    if (kinds.length === 0) return
    while (!stop.signal.aborted) {
      await pause(draw.int(...PAUSE_MS[target]))
      if (stop.signal.aborted) return
      const fault = draw.weighted(kinds.map((kind) => [kind.weight ?? 1, kind] as const))
      const holdMs = draw.int(...fault.holdMs)
      await afflict(fault, holdMs, draw)
    }
  }

  async function afflict({ name, inject }: Fault, holdMs: number, draw: Random): Promise<void> {
    const note = (phase: 'begin' | 'end' | 'refused', detail: string): void =>
      history.add({ type: 'fault', name, detail, phase, atMs: Date.now() })
    try {
      const { detail, heal } = await inject(system, draw)
      note('begin', detail)
      await pause(holdMs)
      await heal()
      note('end', detail)
    } catch (error) {
      // A fault may be impossible now, e.g. a process cannot become ready while its engine is down. That is not a
      // violation, and is counted as refused.
      note('refused', String(error))
    }
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stop.signal }).catch(() => {})
  }
}
