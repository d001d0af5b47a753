import { join, resolve } from 'node:path'
import type { Event } from '@svc/contracts/resources.ts'
import { ApiError, EventGapError } from '@svc/sdk/errors.ts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { wholeNumber } from '../../arguments.ts'
import { type Context, contextOf } from '../../context.ts'
import { folderOfAgent } from '../../files/agent-store.ts'
import { readSecretFile } from '../../files/secret-file.ts'
import { type Io, UsageError } from '../../io.ts'
import type { Work } from '../../listen/work.ts'
import { type ReadingOptions, showInList } from '../../output/message-list.ts'
import { addVerifyOption, findExpected, type Reader, readAnywhere } from '../../output/received.ts'

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
  readonly ack: boolean
  readonly lane?: readonly Event['kind'][]
  readonly board: string[]
  readonly state?: string
  readonly deadLetters?: string
}

const LANES: readonly Event['kind'][] = ['inbox', 'requests', 'board']
/** Without requests and posts: a stranger can send a request, and can make this agent a reader of its own board. */
const DEFAULT_LANES: readonly Event['kind'][] = ['inbox']
const BOARD = /^board:[a-z0-9]{20,40}$/
const MAX_JOBS = 64
const DEFAULT_TIMEOUT_SECONDS = 600

export function addListen(program: Command, io: Io): void {
  const command = program
    .command('listen')
    .description('show messages as they arrive, until interrupted; or run a command or call a URL for each message')
    .addHelpText(
      'after',
      `
Reconnects by itself when the service restarts, and shows nothing twice. Starts with messages that arrive from now on.
--after starts after a cursor, --after 0 with the oldest event that is kept.

--exec runs a command in the shell for each message. The command reads the body from its standard input. The rest is in
SVC_MESSAGE_ID, SVC_FROM, SVC_FROM_ID, SVC_FROM_NAME, SVC_VERIFIED, SVC_SEALED, SVC_TO, SVC_TYPE, SVC_TS, SVC_THREAD_ID,
SVC_REPLY_TO, SVC_LANE, SVC_CURSOR, SVC_ACCEPTED_AT and SVC_ATTEMPT. SVC_FROM_NAME is empty unless the signature was verified.
If the command exits with 0, the message is acknowledged, unless --no-ack is given. Otherwise it is retried, and after --attempts it becomes a file
in the folder of dead letters. The progress is on the disk, so the next svc listen continues where this one ended. If svc
or the machine is killed, the command may run twice for a message: let it check SVC_MESSAGE_ID. Requests of strangers run
nothing without --lane requests. Posts run nothing without --board: any agent can make yours a reader of its board.

--forward posts each message to a URL like the service's webhook, for local development. --secret-file signs the requests.

Examples:
  svc listen --key bob.key
  svc listen --key bob.key --after 17 --open --json
  svc listen --key bob.key --exec './handle.sh' --verify alice
  svc listen --key bob.key --exec 'jq .task' --jobs 4 --dead-letters ./dead
  svc listen --key bob.key --exec './news.sh' --board <id> --verify alice
  svc listen --key bob.key --forward http://127.0.0.1:3000/hook --secret-file bob.secret`,
    )
    .option('--after <cursor>', 'start after this cursor', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--count <n>', 'end after this many events', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--open', 'decrypt sealed messages; --exec always does')
    .addOption(new Option('--exec <command>', 'run this command for each message').conflicts('forward'))
    .option('--forward <url>', 'post each message for the inbox to this URL')
    .addOption(new Option('--secret-file <file>', 'with --forward: the secret that signs requests; created if missing'))
    .option(
      '--jobs <n>',
      `messages to process at the same time, 1 to ${MAX_JOBS}; 1 keeps their order`,
      wholeNumber(1, MAX_JOBS),
      1,
    )
    .option('--attempts <n>', 'attempts for each message before it becomes a dead letter', wholeNumber(1, 100), 5)
    .option(
      '--timeout <seconds>',
      'time limit for each run of the command; 0 for no limit',
      wholeNumber(0, 86_400),
      DEFAULT_TIMEOUT_SECONDS,
    )
    .addOption(
      new Option('--stdin <what>', 'the input of the command: the body, or the whole event as JSON')
        .choices(['body', 'event'])
        .default('body'),
    )
    .option('--no-ack', 'with --exec: leave messages unread, for a command that only wakes an agent')
    .addOption(
      new Option('--lane <lane...>', 'with --exec: the events to process (default: inbox, and --board)').choices(LANES),
    )
    .option('--board <id>', 'with --exec: also process posts of this board; may be repeated', collectBoard, [])
    .option('--state <folder>', 'where --exec and --forward keep their progress; default: a folder per agent')
    .option('--dead-letters <folder>', 'where failed messages are saved; default: in the folder of --state')
  addVerifyOption(command).action(async (options: ListenOptions, command: Command) => {
    const context = contextOf(io, command)
    const client = context.agent()
    const { signal } = context
    const reader = { client, expected: await findExpected(context, client, options.verify), signal }
    if (options.exec !== undefined || options.forward !== undefined) {
      await handle(context, reader, options)
      return
    }
    const after = options.after ?? (await client.latestCursor({ signal }))
    if (options.after === undefined) context.out.note(`listening after cursor ${after}`)
    await context.out.list(() => watch(context, reader, { ...options, after }))
  })
}

async function watch(context: Context, reader: Reader, options: ListenOptions & { after: number }): Promise<void> {
  const { signal, out } = context
  let { after } = options
  let left = options.count ?? Number.POSITIVE_INFINITY
  const onRetry = (failure: unknown): void => {
    const reason = failure instanceof ApiError ? failure.code : (failure as Error).message
    out.note(`${reason}: reconnecting after cursor ${after}`)
  }
  const onCursor = (cursor: number): void => {
    after = cursor
  }
  for (;;) {
    try {
      for await (const event of reader.client.stream({ after, signal, onRetry, onCursor })) {
        after = event.cursor
        const { message } = event
        const prefix = `${String(event.cursor).padStart(6)}  `
        const read = () => readAnywhere(reader, message)
        await showInList(context, reader, { document: event, message, prefix, read }, options)
        left -= 1
        if (left === 0) return
      }
    } catch (error) {
      if (!(error instanceof EventGapError)) throw error
      // A person is watching, so warn about the gap and show the rest.
      out.warn(`warning: ${error.message}`)
      after = error.earliest - 1
    }
  }
}

/** `--exec` and `--forward`. Loads here the modules that only they need. */
async function handle(context: Context, reader: Reader, options: ListenOptions): Promise<void> {
  const { io, out, signal } = context
  const { client } = reader
  const { createFileStore } = await import('@svc/sdk/store/file-store.ts')
  const { workThrough } = await import('../../listen/work.ts')
  const { agentId } = context.key()
  const authority = await client.authority({ signal })
  // Now, because a failure while a message is handled would end the listener.
  if (options.exec !== undefined) await client.address({ signal })
  const kind = options.exec === undefined ? 'forward' : 'exec'
  const folder = resolve(options.state ?? join(folderOfAgent(io.env, 'listen', { agentId, authority }), kind))
  const work = await workOf(context, options, { agentId, authority })
  using store = createFileStore(folder)
  const workOptions = {
    work,
    store,
    lanes: kind === 'forward' ? DEFAULT_LANES : lanesOf(options),
    boards: options.board,
    parallel: options.jobs,
    acknowledge: work.opens && options.ack,
    attempts: options.attempts,
    after: options.after ?? ('end' as const),
    count: options.count,
    deadLetters: resolve(options.deadLetters ?? join(folder, 'dead-letters')),
    onStart: (cursor: number) => out.note(`listening after cursor ${cursor}, saved in ${folder}`),
  }
  await out.list(() => workThrough(context, reader, workOptions))
}

async function workOf(
  context: Context,
  { exec, forward, secretFile, stdin, timeout }: ListenOptions,
  { agentId, authority }: { agentId: string; authority: string },
): Promise<Work> {
  const { io, target } = context
  if (exec !== undefined) {
    if (secretFile !== undefined) throw new UsageError('--secret-file works only with --forward')
    const { createCommandWork } = await import('../../listen/run-command.ts')
    const env = { SVC_KEY: resolve(context.keyPath()), SVC_URL: target.url, SVC_AUTHORITY: authority }
    const timeoutMs = timeout === 0 ? undefined : timeout * 1_000
    return createCommandWork(io, { command: exec, input: stdin, timeoutMs, env })
  }
  const url = forward ?? ''
  if (!['http:', 'https:'].includes(URL.parse(url)?.protocol ?? '')) {
    throw new UsageError(`${url} is not a valid URL to forward to: use http://<host>:<port>/<path>`)
  }
  const secret = secretFile === undefined ? undefined : readSecretFile(secretFile, context.out)
  const { createForwardWork } = await import('../../listen/forward.ts')
  return createForwardWork({ url, secret, owner: agentId })
}

function lanesOf({ lane = DEFAULT_LANES, board }: ListenOptions): readonly Event['kind'][] {
  if (board.length > 0) return [...lane, 'board']
  if (!lane.includes('board')) return lane
  throw new UsageError('name the boards whose posts are processed with --board <id>: any agent can make yours a reader')
}

function collectBoard(value: string, earlier: string[]): string[] {
  const address = value.startsWith('board:') ? value : `board:${value}`
  if (!BOARD.test(address)) throw new InvalidArgumentError('It must be the id of a board.')
  return [...earlier, address]
}
