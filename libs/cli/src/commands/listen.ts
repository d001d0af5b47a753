import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { ApiError, EventGapError } from '@svc/sdk/errors.ts'
import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import { type Context, contextOf } from '../context.ts'
import { indented, messageLine, shortened, shortId } from '../format.ts'
import type { Io } from '../io.ts'
import type { ReadingOptions } from '../message-list.ts'
import {
  addVerifyOption,
  type KnownSenders,
  learnSenders,
  readingJson,
  readingText,
  readMessage,
  verdict,
} from '../received.ts'

interface ListenOptions extends ReadingOptions {
  readonly after?: number
  readonly count?: number
}

/** Characters of a body that are shown; svc read shows all. */
const PREVIEW_CHARACTERS = 300

export function addListen(program: Command, io: Io): void {
  const command = program
    .command('listen')
    .description('show what arrives, as it arrives, until interrupted')
    .addHelpText(
      'after',
      `
Comes back by itself when the service restarts, and shows nothing twice. Begins with what arrives from now on;
--after begins behind a cursor, --after 0 with the oldest event that is kept.

Examples:
  svc listen --key bob.key
  svc listen --key bob.key --after 17 --open --json`,
    )
    .option('--after <cursor>', 'begin after this cursor', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--count <n>', 'end after so many events', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--open', 'decrypt sealed messages')
  addVerifyOption(command).action(async (options: ListenOptions, command: Command) => {
    const context = contextOf(io, command)
    const client = context.agent()
    const senders = await learnSenders(context, client, options.verify)
    const after = options.after ?? (await client.latestCursor({ signal: context.signal }))
    if (options.after === undefined) context.out.note(`listening behind cursor ${after}`)
    await listen(context, client, senders, { ...options, after })
  })
}

async function listen(
  context: Context,
  client: AgentClient,
  senders: KnownSenders,
  options: ListenOptions & { after: number },
): Promise<void> {
  const { signal, out } = context
  let { after } = options
  let left = options.count ?? Number.POSITIVE_INFINITY
  const onRetry = (failure: unknown): void => {
    const reason = failure instanceof ApiError ? failure.code : (failure as Error).message
    out.note(`${reason}: coming back behind cursor ${after}`)
  }
  const onCursor = (cursor: number): void => {
    after = cursor
  }
  for (;;) {
    try {
      for await (const event of client.stream({ after, signal, onRetry, onCursor })) {
        after = event.cursor
        await show(context, client, event, senders, options)
        left -= 1
        if (left === 0) return
      }
    } catch (error) {
      if (!(error instanceof EventGapError)) throw error
      // Whoever watches is better served by what there is than by none of it.
      out.note(`warning: ${error.message}`)
      after = error.earliest - 1
    }
  }
}

async function show(
  { out }: Context,
  client: AgentClient,
  event: Event,
  senders: KnownSenders,
  { open = false, verify }: ReadingOptions,
): Promise<void> {
  const { cursor, message } = event
  const { from } = message.envelope
  const line = `${String(cursor).padStart(6)}  ${messageLine(message, senders.nameOf(from) ?? shortId(from))}`
  if ('body_enc' in message.envelope && !open) {
    out.print(event, [line, indented('[sealed: --open, or svc read]')])
    return
  }
  const reading = await readMessage(client, message, true)
  const isChecked = open || verify.length > 0
  const document = isChecked ? { ...event, opened: readingJson(reading) } : event
  const preview = 'error' in reading ? [] : out.quote(shortened(readingText(reading), PREVIEW_CHARACTERS))
  const checked = 'error' in reading || isChecked ? [indented(`[${verdict(reading)}]`)] : []
  out.print(document, [line, ...checked, ...preview])
}
