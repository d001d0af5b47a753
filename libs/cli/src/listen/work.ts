/** `svc listen --exec` and `--forward`: each event is processed until it is finished, even if svc is killed meanwhile. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { AnswerError, ApiError, EventGapError, NetworkError } from '@svc/sdk/errors.ts'
import { askedSecondsOf } from '@svc/sdk/http/retry.ts'
import type { Opened } from '@svc/sdk/messages/open.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import type { Context } from '../context.ts'
import { readAnywhere, verdict } from '../output/received.ts'
import type { Progress } from './progress.ts'

/** The outcome of one attempt. */
export type Outcome =
  | { readonly result: 'done' }
  /** @param detail for the dead letter, e.g. the end of what a command wrote to stderr. */
  | { readonly result: 'failed'; readonly reason: string; readonly detail?: string }
  /** The listener is stopping. The outcome of the attempt is unknown. */
  | { readonly result: 'stopped' }

export interface Work {
  /** @param opened the opened message, if `WorkOptions.handles` is set. */
  run(event: Event, opened: Opened | undefined, attempt: number, signal: AbortSignal): Promise<Outcome>
}

export interface WorkOptions {
  readonly lanes: readonly Event['kind'][]
  /** The boards whose posts are wanted, as `board:<id>`. Any agent can make another one the reader of its board. */
  readonly boards: readonly string[]
  /** The most events that are processed at the same time. 1 keeps their order. */
  readonly jobs: number
  /** Attempts for each event before it becomes a dead letter. */
  readonly attempts: number
  /** Whether messages are opened and verified before the work, and acknowledged after it. */
  readonly handles: boolean
  /** Process only messages with a verified signature. */
  readonly verifiedOnly: boolean
  readonly deadLetters: string
  /** End after this many events. */
  readonly count: number
}

const BASE_DELAY_MS = 1_000
const MAX_DELAY_MS = 60_000
/** A longer `Retry-After` is not obeyed, so that a false one cannot stop the listener. */
const MAX_ASKED_MS = 3_600_000

export async function workThrough(
  { out, signal: interrupted }: Pick<Context, 'out' | 'signal'>,
  { client, progress }: { client: AgentClient; progress: Progress },
  work: Work,
  options: WorkOptions,
): Promise<void> {
  const { lanes, boards, jobs, attempts, count } = options
  const underWay = new Set<Promise<void>>()
  const broken = new AbortController()
  const signal = AbortSignal.any([interrupted, broken.signal])
  try {
    await read()
  } catch (error) {
    // If the work of an event failed, report that error, not the abort of the stream that it caused.
    throw broken.signal.aborted ? broken.signal.reason : error
  } finally {
    await Promise.all(underWay)
  }
  if (broken.signal.aborted) throw broken.signal.reason

  async function read(): Promise<void> {
    let left = count
    let after = progress.cursor
    const onRetry = (failure: unknown): void => {
      out.note(`${failure instanceof ApiError ? failure.code : (failure as Error).message}: reconnecting`)
    }
    for (;;) {
      try {
        for await (const event of client.stream({ after, signal, onRetry, onCursor: progress.pass })) {
          after = event.cursor
          if (progress.isFinished(event.cursor)) {
            progress.pass(event.cursor)
            continue
          }
          if (!isWanted(event)) {
            progress.pass(event.cursor)
            continue
          }
          progress.take(event.cursor)
          const job = handle(event)
            .catch((error: unknown) => broken.abort(error))
            .finally(() => underWay.delete(job))
          underWay.add(job)
          left -= 1
          if (left === 0) return
          while (underWay.size >= jobs) await Promise.race(underWay)
          signal.throwIfAborted()
        }
      } catch (error) {
        if (!(error instanceof EventGapError)) throw error
        out.warn(`warning: ${error.message}; the command was not run for them`)
        after = error.earliest - 1
        progress.pass(after)
      }
    }
  }

  function isWanted({ kind, message }: Event): boolean {
    if (!lanes.includes(kind)) return false
    if (kind === 'board' && !boards.includes(message.envelope.to)) return false
    // Another program of this agent has acknowledged the message, so the message is finished.
    return !(options.handles && message.acked)
  }

  async function handle(event: Event): Promise<void> {
    const { cursor } = event
    const id = idOf(event)
    if (progress.hasSucceeded(cursor)) return complete(event)
    const opened = options.handles ? await open(event) : undefined
    if (opened === null) return
    for (;;) {
      const attempt = progress.begin(cursor)
      // An earlier run of svc was killed during the last attempt.
      if (attempt > attempts) return bury(event, attempt - 1, { reason: 'svc was killed during the last attempt' })
      const outcome = await work.run(event, opened, attempt, signal)
      if (outcome.result === 'done') {
        if (options.handles) progress.succeed(cursor)
        return complete(event)
      }
      if (outcome.result === 'stopped') return progress.giveBack(cursor)
      out.note(`${cursor} ${id}: ${outcome.reason} (attempt ${attempt} of ${attempts})`)
      if (attempt >= attempts) return bury(event, attempt, outcome)
      await pause(attempt)
      if (signal.aborted) return
    }
  }

  /** @returns null if there is nothing more to do for the event. */
  async function open(event: Event): Promise<Opened | null> {
    const reading = await readAnywhere(client, event.message, true)
    if ('error' in reading) {
      bury(event, 0, { reason: verdict(reading) })
      return null
    }
    if (options.verifiedOnly && !reading.opened.verified) {
      out.note(`${event.cursor} ${idOf(event)}: ignored, because its sender was not named with --verify`)
      progress.finish(event.cursor)
      return null
    }
    return reading.opened
  }

  async function complete(event: Event): Promise<void> {
    if (options.handles && event.kind !== 'board' && !(await acknowledge(event))) return
    progress.finish(event.cursor)
    out.print(
      { cursor: event.cursor, msg_id: event.message.envelope.id, result: 'done' },
      [`${event.cursor} ${idOf(event)} done`],
      event.message.envelope.id,
    )
  }

  /** @returns false if the listener stops before the message is acknowledged. */
  async function acknowledge({ message, cursor }: Event): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await client.ack(message.envelope.id, { signal })
        return true
      } catch (error) {
        if (signal.aborted) return false
        // The message has expired, or this agent cannot acknowledge it. The work is done in both cases.
        if (error instanceof ApiError && ['not_found', 'forbidden'].includes(error.code)) return true
        const isTransient = error instanceof NetworkError || error instanceof AnswerError || isBusy(error)
        if (!isTransient) throw error
        out.note(
          `${cursor} ${message.envelope.id}: acknowledging it failed and is retried: ${(error as Error).message}`,
        )
        await pause(attempt, error)
        if (signal.aborted) return false
      }
    }
  }

  /** Writes a dead letter to the disk before the event counts as finished. The message stays unacknowledged. */
  function bury(event: Event, attempt: number, { reason, detail }: { reason: string; detail?: string }): void {
    const { cursor } = event
    const path = join(options.deadLetters, `${cursor}${fileName(event)}.json`)
    const letter = { reason, attempts: attempt, ...(detail === undefined ? {} : { detail }), event }
    writeDurably(path, `${JSON.stringify(letter, null, 2)}\n`)
    progress.finish(cursor)
    out.warn(`${cursor} ${idOf(event)}: given up (${reason}), saved to ${path}`)
  }

  /** @param failure of the service, which may ask for a longer wait. */
  async function pause(attempt: number, failure?: unknown): Promise<void> {
    const ownMs = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** (attempt - 1))
    const delayMs = Math.max(ownMs, Math.min(askedSecondsOf(failure) * 1_000, MAX_ASKED_MS))
    await sleep(delayMs, undefined, { signal }).catch(() => undefined)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof ApiError && ['unavailable', 'rate_limited', 'internal'].includes(error.code)
}

function idOf({ message }: Event): string {
  return message.envelope.id
}

/** Empty if the id is malformed, because a hostile service could put a path into it. */
function fileName(event: Event): string {
  const id = idOf(event)
  return /^[A-Za-z0-9_-]{8,80}$/.test(id) ? `-${id}` : ''
}
