/** What the present turn of the event loop has taken. */
export interface Turn {
  /** Whether it has used more CPU than so many milliseconds since it was first asked. */
  hasUsed(ms: number): boolean
}

export interface Clocks {
  /** Milliseconds of the clock. */
  readonly now: () => number
  /** Milliseconds of CPU that this thread has used. */
  readonly cpu: () => number
}

const CLOCKS: Clocks = { now: () => performance.now(), cpu: threadCpuMs }

/**
 * CPU and not the clock, whose time is the machine's, which may have others to serve. But to ask for it costs some µs, and a
 * thread uses no more of it than the clock goes on: most turns ask for it once.
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
