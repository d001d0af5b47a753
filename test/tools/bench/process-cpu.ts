import { readdirSync, readFileSync } from 'node:fs'

/** CPU time and memory of processes, from the kernel's accounting (only on Linux). */

/** Clock ticks per second of /proc: 100 on every Linux that Node runs on. */
const TICK_MS = 10

/** User and system milliseconds of a process and, for Postgres, of its living children. */
export function cpuMs(pid: number, options: { withChildren?: boolean } = {}): number {
  const own = ticksOf(pid)
  const children = options.withChildren === true ? childrenOf(pid).map((child) => ticksOf(child)) : []
  return [own, ...children].reduce((sum, ticks) => sum + ticks, 0) * TICK_MS
}

export const canMeasureCpu: boolean = process.platform === 'linux'

/** Resident memory of a process. */
export function residentBytes(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

function ticksOf(pid: number): number {
  try {
    const fields = statOf(pid)
    // utime and stime are fields 14 and 15, the 12th and 13th after the name.
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(statOf(pid)[1]) === parent
      } catch {
        return false
      }
    })
}

/** The fields after the name, which may contain spaces. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}
