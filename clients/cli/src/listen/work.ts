/** `svc listen --exec` and `--forward`: each message is processed until it is finished, even if svc is killed meanwhile. */
import { join } from 'node:path'
import type { Message } from '@svc/contracts/resources.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import { type Received, receivedOf } from '@svc/sdk/messages/answer.ts'
import type { DeadLetter, HandlerContext, ProcessOptions } from '@svc/sdk/process/consumer.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import type { FileStore } from '@svc/sdk/store/file-store.ts'
import type { Context } from '../context.ts'
import { type Reader, readAnywhere } from '../output/received.ts'

/** The outcome of one attempt. */
export type Outcome =
  | { readonly result: 'done' }
  /** @param detail for the dead letter, e.g. the end of what a command wrote to stderr. */
  | { readonly result: 'failed'; readonly reason: string; readonly detail?: string }
  /** The listener is stopping. The outcome of the attempt is unknown. */
  | { readonly result: 'stopped' }

export interface Work {
  /** Whether messages are opened and verified before the work. */
  readonly opens: boolean
  run(message: Received, context: HandlerContext): Promise<Outcome>
}

interface WorkOptions
  extends Required<Pick<ProcessOptions, 'lanes' | 'boards' | 'parallel' | 'attempts' | 'after' | 'acknowledge'>>,
    Pick<ProcessOptions, 'count' | 'onStart'> {
  readonly deadLetters: string
}

/** The reason of a failed attempt. */
class WorkFailed extends Error {
  readonly detail: string | undefined

  constructor({ reason, detail }: Extract<Outcome, { result: 'failed' }>) {
    super(reason)
    this.detail = detail
  }
}

/** Resolves after `count` messages. @throws the reason of the signal. */
export async function workThrough(
  { out, signal }: Pick<Context, 'out' | 'signal'>,
  reader: Reader,
  { work, store, ...options }: WorkOptions & { work: Work; store: FileStore },
): Promise<void> {
  const { deadLetters, attempts, ...rest } = options
  await reader.client.process({
    ...rest,
    attempts,
    store,
    signal,
    anyOrder: true,
    types: ['request', 'response', 'event', 'error'],
    open,
    async handle(message, context) {
      const outcome = await work.run(message, context)
      if (outcome.result === 'done') return
      context.signal.throwIfAborted()
      if (outcome.result === 'stopped') throw new Error('stopped')
      out.note(`${context.cursor} ${message.id}: ${outcome.reason} (attempt ${context.attempt} of ${attempts})`)
      throw new WorkFailed(outcome)
    },
    onRetry: (failure) => out.note(`${reasonOf(failure)}: reconnecting`),
    onWait: ({ id, failure, delayMs }) =>
      out.note(`${id}: waits ${Math.ceil(delayMs / 1_000)} s (${reasonOf(failure)})`),
    onGap: ({ after, earliest }) =>
      out.warn(
        `warning: the events ${after + 1} to ${earliest - 1} are no longer kept; the command was not run for them`,
      ),
    onFinished: ({ id, cursor }) => out.print({ cursor, msg_id: id, result: 'done' }, [`${cursor} ${id} done`], id),
    onDeadLetter: bury,
  })
  signal.throwIfAborted()

  /** @returns undefined for a message that is ignored. @throws VerificationError for one that is not to be trusted. */
  async function open(message: Message): Promise<Received | undefined> {
    if (!work.opens) return receivedOf(message, { body: null, sealed: false, verified: false, sender: undefined })
    const reading = await readAnywhere(reader, message)
    if ('error' in reading) throw reading.error
    if (reader.expected.size === 0 || reading.opened.verified) return receivedOf(message, reading.opened)
    out.note(`${message.envelope.id}: ignored, because its sender was not named with --verify`)
    return undefined
  }

  /** Writes a dead letter to the disk before the message counts as finished. The message stays unacknowledged. */
  async function bury({ error, reason, attempts, cursor, id, event }: DeadLetter): Promise<void> {
    const detail = error instanceof WorkFailed ? error.detail : undefined
    const letter = { reason, attempts, ...(detail === undefined ? {} : { detail }), event }
    const name = `${cursor}${fileName(id)}.json`
    const path = join(deadLetters, name)
    writeDurably(path, `${JSON.stringify(letter, null, 2)}\n`)
    // The store has one too, in the default folder under the same name, unless the name has capital letters.
    if (path !== join(store.folder, 'dead-letters', name) || /[A-Z]/.test(name))
      await store.delete(`dead-letters/${name}`)
    out.warn(`${cursor} ${id}: given up (${reason}), saved to ${path}`)
  }
}

/** Empty if the id is malformed, because a hostile service could put a path into it. */
function fileName(id: string): string {
  return /^[A-Za-z0-9_-]{8,80}$/.test(id) ? `-${id}` : ''
}

function reasonOf(failure: unknown): string {
  return failure instanceof ApiError ? failure.code : (failure as Error).message
}
