import { type ChildProcess, spawn } from 'node:child_process'
import type { Received } from '@svc/sdk/messages/answer.ts'
import type { HandlerContext } from '@svc/sdk/process/consumer.ts'
import type { Io } from '../io.ts'
import { bodyText } from '../output/format.ts'
import type { Outcome, Work } from './work.ts'

interface CommandOptions {
  /** Run by the shell of the platform. */
  readonly command: string
  /** What the command reads from its standard input. */
  readonly input: 'body' | 'event'
  /** The command is stopped after this time. Undefined for no limit. */
  readonly timeoutMs: number | undefined
  /** Extra variables, so that the command can call svc as this agent. */
  readonly env: Readonly<Record<string, string>>
}

/** The dead letter gets at most this many characters from the end of stderr. */
const MAX_KEPT_CHARACTERS = 4_096
/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 10_000
/** Wait this long for output of processes that the command left behind. */
const LAST_OUTPUT_MS = 1_000

/** Running process groups. They are killed when this process exits. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) killGroup(child, 'SIGKILL')
})

export function createCommandWork({ stdout, stderr, env }: Io, options: CommandOptions): Work {
  return {
    opens: true,
    async run(message, context) {
      const { signal, event } = context
      if (signal.aborted) return { result: 'stopped' }
      const variables = { ...env, ...options.env, ...describe(message, context) }
      const { body, sealed, verified, sender } = message
      const opened = { body, sealed, verified, sender }
      const input = options.input === 'event' ? `${JSON.stringify({ ...event, opened })}\n` : bodyText(body)
      let child: ChildProcess
      try {
        // A separate process group, so that all processes that the command starts can be killed together.
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
      // A command need not read its input.
      child.stdin?.on('error', () => undefined).end(input)
      return await watch(child, options, signal, () => kept)
    },
  }
}

/** Resolves when the command has ended. If svc stopped the command, everything it left behind is killed too. */
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
    // A command that exits with 0 after SIGTERM has finished its work.
    if (code === 0 && ended !== 'timeout') return { result: 'done' }
    if (ended === 'stopped') return { result: 'stopped' }
    const detail = keptOutput()
    if (ended === 'timeout')
      return { result: 'failed', reason: `took longer than ${(timeoutMs ?? 0) / 1_000} s`, detail }
    return { result: 'failed', reason: by === null ? `exited with ${code}` : `was killed by ${by}`, detail }
  }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child
  if (pid === undefined) return
  try {
    if (process.platform !== 'win32') process.kill(-pid, signal)
    else child.kill(signal)
  } catch {
    // The group has ended already.
  }
}

/** Metadata of the message. Free text of others, such as the body, is only on standard input, never in variables. */
function describe(
  { message, sealed, verified, sender }: Received,
  { event: { cursor, kind }, attempt }: HandlerContext,
): Record<string, string> {
  const { id, from, to, type, ts, thread_id, reply_to } = message.envelope
  return {
    SVC_MESSAGE_ID: id,
    SVC_FROM: from,
    SVC_FROM_ID: sender?.agentId ?? '',
    // A name that a script trusts, so only that of a verified sender.
    SVC_FROM_NAME: verified ? (sender?.name ?? '') : '',
    SVC_VERIFIED: verified ? '1' : '0',
    SVC_SEALED: sealed ? '1' : '0',
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
