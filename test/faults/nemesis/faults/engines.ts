/** Faults of an engine as a whole. */
import type { Fault } from '../fault.ts'

type EngineFault = Pick<Fault, 'name' | 'holdMs' | 'weight'> & { readonly target: 'postgres' | 'nats' }

/** Sends SIGKILL: data that is not durable is lost, and the next start recovers. */
const killed = (fault: EngineFault): Fault => down(fault, 'kill')
/** Shuts it down properly. */
const restarted = (fault: EngineFault): Fault => down(fault, 'stop')
/** Sends SIGKILL, and deletes everything that was stored: streams, consumers and acknowledged messages. */
const wiped = (fault: EngineFault): Fault => down(fault, 'kill', { wipe: true })

function down(fault: EngineFault, end: 'kill' | 'stop', options: { wipe?: boolean } = {}): Fault {
  const { target } = fault
  return {
    ...fault,
    async inject({ [target]: engine }) {
      await engine[end]()
      return { detail: target, heal: () => engine.start(options) }
    },
  }
}

/** Sends SIGSTOP to all of its processes, and later SIGCONT. Connections stay open, but nothing answers. */
function paused(fault: EngineFault): Fault {
  return {
    ...fault,
    async inject({ [fault.target]: engine, signal }) {
      const pids = engine.pids()
      for (const pid of pids) signal(pid, 'SIGSTOP')
      return {
        detail: `${pids.length} processes`,
        async heal() {
          for (const pid of pids.toReversed()) signal(pid, 'SIGCONT')
        },
      }
    },
  }
}

export const POSTGRES_FAULTS: readonly Fault[] = [
  killed({ name: 'kill-postgres', target: 'postgres', holdMs: [0, 1_500] }),
  restarted({ name: 'restart-postgres', target: 'postgres', holdMs: [0, 500] }),
  paused({ name: 'pause-postgres', target: 'postgres', holdMs: [300, 7_000] }),
  // Longer than a charge is held (10 s). Commits that were already sent then take effect after they were abandoned.
  paused({ name: 'freeze-postgres', target: 'postgres', holdMs: [11_000, 14_000], weight: 0.4 }),
]

export const NATS_FAULTS: readonly Fault[] = [
  killed({ name: 'kill-nats', target: 'nats', holdMs: [0, 2_000] }),
  restarted({ name: 'restart-nats', target: 'nats', holdMs: [0, 500] }),
  paused({ name: 'pause-nats', target: 'nats', holdMs: [300, 7_000] }),
  wiped({ name: 'wipe-nats', target: 'nats', holdMs: [0, 1_000] }),
]
