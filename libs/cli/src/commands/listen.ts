import { join, resolve } from 'node:path'
import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { ApiError, EventGapError } from '@svc/sdk/errors.ts'
import { type Command, Option } from 'commander'
import { wholeNumber } from '../arguments.ts'
import { type Context, contextOf } from '../context.ts'
import { stateFolder } from '../files/places.ts'
import { readSecretFile } from '../files/secret-file.ts'
import { type Io, UsageError } from '../io.ts'
import type { Work, WorkOptions } from '../listen/work.ts'
import { messageLine, shortened, shortId } from '../output/format.ts'
import { type ReadingOptions, SEALED } from '../output/message-list.ts'
import {
  addVerifyOption,
  type KnownSenders,
  learnSenders,
  readingJson,
  readingText,
  readMessage,
  verdictLine,
} from '../output/received.ts'
import type { Line } from '../output/style.ts'

interface ListenOptions extends ReadingOptions {
  readonly after?: number
  readonly count?: number
  readonly exec?: string
  readonly forward?: string
  readonly secretFile?: string
  readonly jobs: number
  readonly attempts: number
  readonly timeout: number
  readonly stdin: 'body' | 'event'
  readonly lane?: Event['kind'][]
  readonly state?: string
  readonly deadLetters?: string
}

/** Characters of a body that are shown; svc read shows all. */
const PREVIEW_CHARACTERS = 300
const LANES: readonly Event['kind'][] = ['inbox', 'requests', 'board']
/** Not requests: a stranger is to run nothing here. */
const DEFAULT_LANES: readonly Event['kind'][] = ['inbox', 'board']
const MAX_JOBS = 64
const DEFAULT_TIMEOUT_SECONDS = 600

export function addListen(program: Command, io: Io): void {
  const command = program
    .command('listen')
    .description(
      'show what arrives, as it arrives, until interrupted; or run a command, or call a URL, for each message',
    )
    .addHelpText(
      'after',
      `
Comes back by itself when the service restarts, and shows nothing twice. Begins with what arrives from now on;
--after begins behind a cursor, --after 0 with the oldest event that is kept.

--exec runs a command for each message, by the shell: the body is on its standard input, and SVC_MESSAGE_ID, SVC_FROM,
SVC_FROM_NAME, SVC_VERIFIED, SVC_SEALED, SVC_TO, SVC_TYPE, SVC_TS, SVC_THREAD_ID, SVC_REPLY_TO, SVC_LANE, SVC_CURSOR,
SVC_ACCEPTED_AT and SVC_ATTEMPT tell the rest. It is finished, and acknowledged, when the command exits with 0; otherwise
it is tried again, and after --attempts put into the folder of dead letters. What was begun is remembered on the disk:
whenever svc ends, the next one goes on where it stood. A command may see a message twice, if svc or the machine is ended
at the wrong moment, so have it look at SVC_MESSAGE_ID. Requests of strangers run nothing without --lane requests.

--forward posts each message to a URL as the service's webhook would, for local development; --secret-file signs it.

Examples:
  svc listen --key bob.key
  svc listen --key bob.key --after 17 --open --json
  svc listen --key bob.key --exec './handle.sh' --verify alice
  svc listen --key bob.key --exec 'jq .task' --jobs 4 --dead-letters ./dead
  svc listen --key bob.key --forward http://127.0.0.1:3000/hook --secret-file bob.secret`,
    )
    .option('--after <cursor>', 'begin after this cursor', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--count <n>', 'end after so many events', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--open', 'decrypt sealed messages; --exec does so by itself')
    .addOption(new Option('--exec <command>', 'run this for each message').conflicts('forward'))
    .option('--forward <url>', 'post each message for the inbox to this URL')
    .addOption(
      new Option('--secret-file <file>', 'with --forward: signs as the webhook does; made where it is not there'),
    )
    .option(
      '--jobs <n>',
      `messages at the same time, 1 to ${MAX_JOBS}; 1 keeps their order`,
      wholeNumber(1, MAX_JOBS),
      1,
    )
    .option('--attempts <n>', 'for each message, before it is a dead letter', wholeNumber(1, 100), 5)
    .option(
      '--timeout <seconds>',
      'for each run of the command; 0: none',
      wholeNumber(0, 86_400),
      DEFAULT_TIMEOUT_SECONDS,
    )
    .addOption(
      new Option('--stdin <what>', 'what the command reads: the body, or the whole event as JSON')
        .choices(['body', 'event'])
        .default('body'),
    )
    .addOption(new Option('--lane <lane...>', 'with --exec: which events (default: inbox and board)').choices(LANES))
    .option('--state <folder>', 'what --exec and --forward remember; default: a folder for each agent')
    .option('--dead-letters <folder>', 'what was given up; default: in the folder of --state')
  addVerifyOption(command).action(async (options: ListenOptions, command: Command) => {
    const context = contextOf(io, command)
    const client = context.agent()
    const senders = await learnSenders(context, client, options.verify)
    if (options.exec !== undefined || options.forward !== undefined) {
      await handle(context, client, senders, options)
      return
    }
    const after = options.after ?? (await client.latestCursor({ signal: context.signal }))
    if (options.after === undefined) context.out.note(`listening behind cursor ${after}`)
    await context.out.list(() => watch(context, client, senders, { ...options, after }))
  })
}

async function watch(
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
      out.warn(`warning: ${error.message}`)
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
  const { from, id } = message.envelope
  const head = `${String(cursor).padStart(6)}  ${messageLine(message, senders.nameOf(from) ?? shortId(from))}`
  const line: Line = { text: head, style: 'strong' }
  if ('body_enc' in message.envelope && !open) {
    out.print(event, [line, SEALED], id)
    return
  }
  const reading = await readMessage(client, message, true)
  const isChecked = open || verify.length > 0
  const document = isChecked ? { ...event, opened: readingJson(reading) } : event
  const preview = 'error' in reading ? [] : out.quote(shortened(readingText(reading), PREVIEW_CHARACTERS))
  const checked = 'error' in reading || isChecked ? [verdictLine(reading)] : []
  out.print(document, [line, ...checked, ...preview], id)
}

/** `--exec` and `--forward`. What only they need is loaded here. */
async function handle(
  context: Context,
  client: AgentClient,
  senders: KnownSenders,
  options: ListenOptions,
): Promise<void> {
  const { io, out, signal } = context
  const { lockFolder } = await import('../listen/folder-lock.ts')
  const { openProgress } = await import('../listen/progress.ts')
  const { workThrough } = await import('../listen/work.ts')
  const { agentId } = context.key()
  const authority = await client.authority({ signal })
  const kind = options.exec === undefined ? 'forward' : 'exec'
  const place = join(stateFolder(io.env), 'listen', `${agentId}@${authority.replaceAll(':', '_')}`, kind)
  const folder = resolve(options.state ?? place)
  const work = await workOf(context, senders, options, agentId)
  using _lock = lockFolder(folder)
  const begin = async (): Promise<number> => options.after ?? (await client.latestCursor({ signal }))
  const progress = await openProgress(folder, { agentId, authority }, begin)
  out.note(`listening behind cursor ${progress.cursor}, which ${folder} remembers`)
  const workOptions: WorkOptions = {
    lanes: kind === 'forward' ? ['inbox'] : (options.lane ?? DEFAULT_LANES),
    jobs: options.jobs,
    attempts: options.attempts,
    handles: kind === 'exec',
    verifiedOnly: options.verify.length > 0,
    deadLetters: resolve(options.deadLetters ?? join(folder, 'dead-letters')),
    count: options.count ?? Number.POSITIVE_INFINITY,
  }
  await out.list(() => workThrough(context, client, progress, work, workOptions))
}

async function workOf(
  context: Context,
  senders: KnownSenders,
  { exec, forward, secretFile, stdin, timeout }: ListenOptions,
  owner: string,
): Promise<Work> {
  const { io, target } = context
  if (exec !== undefined) {
    if (secretFile !== undefined) throw new UsageError('--secret-file is for --forward')
    const { createCommandWork } = await import('../listen/run-command.ts')
    const env = { SVC_KEY: resolve(context.keyPath()), SVC_URL: target.url }
    const timeoutMs = timeout === 0 ? undefined : timeout * 1_000
    return createCommandWork(io, { command: exec, input: stdin, timeoutMs, senders, env })
  }
  const url = forward ?? ''
  if (!['http:', 'https:'].includes(URL.parse(url)?.protocol ?? '')) {
    throw new UsageError(`${url} is not a URL to forward to: give http://<host>:<port>/<path>`)
  }
  const secret = secretFile === undefined ? undefined : readSecretFile(secretFile, context.out)
  const { createForwardWork } = await import('../listen/forward.ts')
  return createForwardWork({ url, secret, owner })
}
