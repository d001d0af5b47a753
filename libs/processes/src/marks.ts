/**
 * Identifies the processes of a stack, whichever of them have died. Every process of a stack has a mark in its command
 * line: `svc:<stack>:<run>:<name>`. The stack is its data folder; the run is one start. A file of pids would miss a process
 * whose starter died before it could write the file, and pids are reused. A command line always exists and belongs to its
 * process.
 */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Mark {
  /** 16 hex digits of the hash of the data folder's real path, so a copy of the folder is another stack. */
  readonly stack: string
  /** 8 hex digits, new for every start. */
  readonly run: string
}

export interface MarkedProcess {
  readonly pid: number
  readonly run: string
  /** `gateway-1`, `messaging-2`, `nats`, `postgres`, `keeper`, ... */
  readonly name: string
}

/** How a kind of process stops, and in which order. Processes that depend on others stop first. */
interface StopRule {
  readonly stage: number
  readonly signal: NodeJS.Signals
  /** SIGKILL follows after this time. */
  readonly graceMs: number
}

/** A service drains for at most 18 s (libs/service, run-service.ts). The rest is for a busy machine. */
const SERVICE_GRACE_MS = 20_000
/** Shorter, because no client waits for the services of a dead run. */
const LEFTOVER_GRACE_MS = 3_000
const STAGES = [0, 1, 2, 3]
/** The two names of a keeper (keeper.ts), which ends by itself. */
const KEEPERS = new Set(['keeper', 'ending'])
/** A Postgres backend shows the mark too. It ends with its postmaster, and reacts to other signals. */
const POSTGRES_CHILD = 'postgres-child'
const POLL_MS = 20

export function createMark(folder: string): Mark {
  const stack = createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 16)
  return { stack, run: randomBytes(4).toString('hex') }
}

/** At most 63 bytes, because Postgres truncates a longer `cluster_name`. */
export function markOf({ stack, run }: Mark, name: string): string {
  return `svc:${stack}:${run}:${name}`
}

/** SIGINT is Postgres's fast shutdown: it ends sessions, loses nothing, and needs no recovery at the next start. */
export function stopRuleOf(name: string): StopRule {
  if (name.startsWith('gateway')) return { stage: 0, signal: 'SIGTERM', graceMs: SERVICE_GRACE_MS }
  if (name.startsWith('nats')) return { stage: 2, signal: 'SIGTERM', graceMs: 5_000 }
  if (name.startsWith('postgres')) return { stage: 3, signal: 'SIGINT', graceMs: 30_000 }
  return { stage: 1, signal: 'SIGTERM', graceMs: SERVICE_GRACE_MS }
}

/** Lists the living processes of a stack, of one run or of all runs, except the caller. */
export function findMarked(stack: string, run?: string): MarkedProcess[] {
  const pattern = new RegExp(`svc:${stack}:(${run ?? '[0-9a-f]{8}'}):([a-z0-9-]+)`)
  return listCommandLines().flatMap(({ pid, command }) => {
    const [, foundRun, name] = pattern.exec(command) ?? []
    if (foundRun === undefined || name === undefined || pid === process.pid) return []
    return [{ pid, run: foundRun, name: command.startsWith('postgres: ') ? POSTGRES_CHILD : name }]
  })
}

/**
 * Stops the remains of a dead run in the order of a normal stop, and returns when none is alive.
 * @param run one run; default: all runs of the stack.
 * @returns the names of the processes that it found.
 */
export async function reclaim(stack: string, run?: string): Promise<string[]> {
  const leftovers = (stage?: number): MarkedProcess[] =>
    findMarked(stack, run).filter(
      ({ name }) => !KEEPERS.has(name) && (stage === undefined || stopRuleOf(name).stage === stage),
    )
  const found = leftovers()
  for (const stage of STAGES) {
    const first = leftovers(stage)
    if (first.length === 0) continue
    for (const { pid, name } of first) if (name !== POSTGRES_CHILD) sendSignal(pid, stopRuleOf(name).signal)
    const graceMs = stage < 2 ? LEFTOVER_GRACE_MS : Math.max(...first.map(({ name }) => stopRuleOf(name).graceMs))
    if (await waitUntil(() => leftovers(stage).length === 0, graceMs)) continue
    for (const { pid } of leftovers(stage)) sendSignal(pid, 'SIGKILL')
    await waitUntil(() => leftovers(stage).length === 0, SERVICE_GRACE_MS)
  }
  return found.map(({ name }) => name)
}

/** Polls `condition`. @returns whether it became true within the time. */
export async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (!condition()) {
    if (Date.now() > deadline) return false
    await sleep(POLL_MS)
  }
  return true
}

/** The command line of a process, or undefined if there is no such process. */
export function commandLineOf(pid: number): string | undefined {
  return listCommandLines().find((line) => line.pid === pid)?.command
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has just ended by itself.
  }
}

/** Skips zombies, which have no command line. */
function listCommandLines(): { pid: number; command: string }[] {
  if (process.platform !== 'linux') {
    const table = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 64 << 20 })
    return [...table.matchAll(/^\s*(\d+) (.*)$/gm)].map(([, pid, command]) => ({
      pid: Number(pid),
      command: command ?? '',
    }))
  }
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        return [{ pid: Number(entry), command: readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ') }]
      } catch {
        return [] // ended during the listing
      }
    })
}
