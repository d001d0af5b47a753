import { type ChildProcess, spawn } from 'node:child_process'
import type { Event } from '@svc/contracts/resources.ts'
import type { Opened } from '@svc/sdk/open.ts'
import type { Io } from '../io.ts'
import { bodyText } from '../output/format.ts'
import type { KnownSenders } from '../output/received.ts'
import type { Outcome, Work } from './work.ts'

interface CommandOptions {
  /** For the shell of the platform. */
  readonly command: string
  /** What the command finds on its standard input. */
  readonly input: 'body' | 'event'
  /** Milliseconds after which it is ended; undefined: it takes the time that it takes. */
  readonly timeoutMs: number | undefined
  readonly senders: KnownSenders
  /** For commands that call svc themselves, as the same agent. */
  readonly env: Readonly<Record<string, string>>
}

/** What is kept of stderr for a dead letter. */
const MAX_KEPT_CHARACTERS = 4_096
/** From asking a command to end until it is killed. */
const GRACE_MS = 10_000
/** Output of what the command left behind is not waited for any longer. */
const LAST_OUTPUT_MS = 1_000

/** Groups of processes under way: they end with this process. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) killGroup(child, 'SIGKILL')
})

export function createCommandWork({ stdout, stderr, env }: Io, options: CommandOptions): Work {
  return {
    async run(event, opened, attempt, signal) {
      if (signal.aborted) return { result: 'stopped' }
      const variables = { ...env, ...options.env, ...describe(event, opened, attempt, options.senders) }
      const input = options.input === 'event' ? `${JSON.stringify({ ...event, opened })}\n` : bodyText(opened?.body)
      let child: ChildProcess
      try {
        // A group of its own, so that what the command starts ends with it.
        child = spawn(options.command, { shell: true, detached: process.platform !== 'win32', env: variables })
      } catch (error) {
        return { result: 'failed', reason: `cannot be run: ${(error as Error).message}` }
      }
      let kept = ''
      child.stdout?.pipe(stdout, { end: false })
      child.stderr?.pipe(stderr, { end: false })
      child.stderr?.on('data', (chunk: Buffer) => {
        kept = (kept + chunk.toString()).slice(-MAX_KEPT_CHARACTERS)
      })
      // A command need not read what it is given.
      child.stdin?.on('error', () => undefined).end(input)
      return await watch(child, options, signal, () => kept)
    },
  }
}

/** @returns when the command has ended, and what it left behind was killed. */
function watch(
  child: ChildProcess,
  { timeoutMs }: CommandOptions,
  signal: AbortSignal,
  keptOutput: () => string,
): Promise<Outcome> {
  running.add(child)
  let ended: 'timeout' | 'stopped' | undefined
  let killing: NodeJS.Timeout | undefined
  const end = (why: 'timeout' | 'stopped'): void => {
    if (ended !== undefined) return
    ended = why
    killGroup(child, 'SIGTERM')
    killing = setTimeout(() => killGroup(child, 'SIGKILL'), GRACE_MS)
  }
  const onAbort = (): void => end('stopped')
  const limit = timeoutMs === undefined ? undefined : setTimeout(() => end('timeout'), timeoutMs)
  signal.addEventListener('abort', onAbort, { once: true })
  return new Promise<Outcome>((resolve) => {
    child.on('error', (error) => resolve({ result: 'failed', reason: `cannot be run: ${error.message}` }))
    child.on('close', (code, by) => resolve(outcomeOf(code, by)))
    child.on('exit', (code, by) => setTimeout(() => resolve(outcomeOf(code, by)), LAST_OUTPUT_MS).unref())
  }).finally(() => {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(limit)
    clearTimeout(killing)
    running.delete(child)
    if (ended !== undefined) killGroup(child, 'SIGKILL')
  })

  function outcomeOf(code: number | null, by: NodeJS.Signals | null): Outcome {
    // A command that was asked to end and finished its work all the same has done it.
    if (code === 0 && ended !== 'timeout') return { result: 'done' }
    if (ended === 'stopped') return { result: 'stopped' }
    const detail = keptOutput()
    if (ended === 'timeout') return { result: 'failed', reason: 'took too long', detail }
    return { result: 'failed', reason: by === null ? `exited with ${code}` : `was ended by ${by}`, detail }
  }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child
  if (pid === undefined) return
  try {
    if (process.platform !== 'win32') process.kill(-pid, signal)
    else child.kill(signal)
  } catch {
    // The group is gone.
  }
}

/** Metadata of the message. The body is not among it: what others wrote freely is on the standard input alone. */
function describe(
  { cursor, kind, message }: Event,
  opened: Opened | undefined,
  attempt: number,
  senders: KnownSenders,
): Record<string, string> {
  const { id, from, to, type, ts, thread_id, reply_to } = message.envelope
  return {
    SVC_MESSAGE_ID: id,
    SVC_FROM: from,
    SVC_FROM_NAME: senders.nameOf(from) ?? '',
    SVC_VERIFIED: opened?.verified === true ? '1' : '0',
    SVC_SEALED: opened?.sealed === true ? '1' : '0',
    SVC_TO: to,
    SVC_TYPE: type,
    SVC_TS: ts,
    SVC_THREAD_ID: thread_id ?? '',
    SVC_REPLY_TO: reply_to ?? '',
    SVC_LANE: kind,
    SVC_CURSOR: String(cursor),
    SVC_ACCEPTED_AT: String(message.created_at),
    SVC_ATTEMPT: String(attempt),
  }
}
