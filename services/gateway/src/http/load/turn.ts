/** Measures the CPU time of the current turn of the event loop. */
export interface Turn {
  /** Whether the turn has used more than `ms` milliseconds of CPU since the first call in this turn. */
  hasUsed(ms: number): boolean
}

interface Clocks {
  /** Wall time in milliseconds. */
  readonly now: () => number
  /** CPU time of this thread in milliseconds. */
  readonly cpu: () => number
}

const CLOCKS: Clocks = { now: () => performance.now(), cpu: threadCpuMs }

/**
 * Measures CPU time, not wall time, so a noisy neighbour does not count against us. Reading the CPU clock takes a few µs. CPU
 * time never exceeds wall time, so most turns read it only once.
 */
export function createTurn(clocks: Clocks = CLOCKS): Turn {
  let began: { readonly nowMs: number; readonly cpuMs: number } | undefined
  return {
    hasUsed(ms) {
      if (began === undefined) {
        began = { nowMs: clocks.now(), cpuMs: clocks.cpu() }
        setImmediate(() => {
          began = undefined
        })
        return false
      }
      return clocks.now() - began.nowMs > ms && clocks.cpu() - began.cpuMs > ms
    },
  }
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
