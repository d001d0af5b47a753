import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { stopRuleOf } from './marks.ts'

interface ChildOptions {
  /** The name in the stack (marks.ts). The caller must put the mark into `args`. */
  name: string
  command: string
  args: string[]
  env: NodeJS.ProcessEnv
  cwd?: string
  uid?: number
  gid?: number
  /** Its standard input; empty by default. */
  input?: string
  /** Called with every line of stdout and stderr. */
  onLine: (line: string) => void
}

/** How a process ended: `exit code 1`, `signal SIGKILL`, or the reason why it did not start. */
export interface Ending {
  readonly code: number | null
  readonly reason: string
}

export interface Child {
  readonly name: string
  readonly pid: number | undefined
  /** Settles when the process has ended and all of its output was read. Never rejects. */
  readonly ended: Promise<Ending>
  kill(signal: NodeJS.Signals): void
  /** Signals the process to end, and kills it after the grace period of its kind. */
  stop(): Promise<Ending>
}

/** Starts a process in its own session, so that a Ctrl-C at the terminal does not reach it. */
export function startChild({ name, command, args, input, onLine, ...options }: ChildOptions): Child {
  const child = spawn(command, args, { ...options, detached: true, stdio: 'pipe' })
  child.stdin.on('error', () => {}) // the process may end without reading
  child.stdin.end(input)
  for (const output of [child.stdout, child.stderr]) createInterface({ input: output }).on('line', onLine)
  const ended = endingOf(child)
  return {
    name,
    pid: child.pid,
    ended,
    kill: (signal) => {
      child.kill(signal)
    },
    async stop() {
      const { signal, graceMs } = stopRuleOf(name)
      child.kill(signal)
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
      try {
        return await ended
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

async function endingOf(child: ChildProcess): Promise<Ending> {
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    return { code, reason: signal === null ? `exit code ${code}` : `signal ${signal}` }
  } catch (error) {
    return { code: null, reason: error instanceof Error ? error.message : String(error) }
  }
}
