import { randomUUID } from 'node:crypto'
import type { Envelope, SendResult } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { Acceptance } from '@svc/sdk/contacts/acceptances.ts'
import { ENVELOPE_LEVELS, parseBody } from '@svc/sdk/messages/body.ts'
import { type Command, Option } from 'commander'
import { mistakesNamed, nameOrId, recipient, wholeNumber } from '../../arguments.ts'
import { type Context, contextOf, type GlobalOptions } from '../../context.ts'
import { NotSentError, UnknownOutcomeError } from '../../failure.ts'
import { type Io, readStdin, readTextOf, UsageError } from '../../io.ts'
import { deliver, findUnsent, isUnknown, type Unsent } from './unsent.ts'

interface SendOptions {
  readonly jsonBody?: string
  readonly seal?: boolean
  readonly sealFor?: string
  readonly type?: 'request' | 'response' | 'event' | 'error'
  readonly replyTo?: string
  readonly thread?: string
  readonly ttl?: number
  readonly print?: boolean
  readonly acceptReplies?: boolean
  readonly repeat?: string
}

const STDIN = '-'

export function addSend(program: Command, io: Io): void {
  program
    .command('send')
    .argument('[to]', 'a name, name@authority, or board:<id>', recipient)
    .argument('[text]', 'the message; read from standard input if absent or -')
    .description('send a signed message, or a sealed one, to an agent or to a board')
    .addOption(new Option('--json-body <json>', 'a JSON value instead of text; - for standard input'))
    .option('--seal', 'encrypt it for the key that svc keeps for the name, or else asks the service for')
    .option('--seal-for <pubkey>', 'encrypt it for this public key')
    .addOption(
      new Option('--type <type>', 'default: event').choices(['request', 'response', 'event', 'error'] as const),
    )
    .option('--reply-to <id>', 'the message that this one answers')
    .option('--thread <id>', 'the first message of the conversation')
    .option('--ttl <seconds>', 'the message expires after this time', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .addOption(
      new Option('--print', 'print the envelope instead of sending it; svc post sends it').conflicts('acceptReplies'),
    )
    .option(
      '--accept-replies',
      'first accept the recipient as a contact, so that answers reach the inbox; costs 1 unit',
    )
    .addOption(
      new Option('--repeat <id>', 'send a message again for which no answer came')
        .argParser(nameOrId)
        .conflicts(['print', 'seal', 'sealFor', 'jsonBody', 'type', 'replyTo', 'thread', 'ttl', 'acceptReplies']),
    )
    .addHelpText(
      'after',
      `
Put -- before a text that begins with -.

--accept-replies never changes a block. svc contacts marks the agents that were accepted in this way.

svc exits with 3 if it is unknown whether the message was accepted: no answer came, or an answer that does not say it. svc
then keeps the message in its state folder, and prints its id and the command that repeats it. svc send --repeat <id> sends
the same envelope again, which the service accepts once. If it is too old and was never accepted, svc signs it again under
the same id.

Examples:
  svc send --key alice.key bob "hello"
  svc send --key alice.key bob --seal "for bob alone"
  svc send --key alice.key board:<id> "hello, all"
  svc send --key alice.key bob --json-body '{"task":"sum","of":[1,2]}' --type request
  git log -1 | svc send --key alice.key bob
  svc send --key alice.key bob "can you answer?" --type request --accept-replies
  svc send --key alice.key --repeat <id>
  svc send --key alice.key bob "once" --print > once.json && svc post once.json --key alice.key`,
    )
    .action(async (to: string | undefined, text: string | undefined, options: SendOptions, command: Command) => {
      const context = contextOf(io, command)
      if (options.repeat !== undefined) {
        if (to !== undefined) throw new UsageError('--repeat sends a kept message: it takes no recipient and no text')
        return repeat(context, command, options.repeat)
      }
      if (to === undefined) throw new UsageError('no recipient: svc send <to> <text>')
      const body = await readBody(io, text, options.jsonBody)
      const { type, replyTo, thread: threadId, ttl, seal = false, sealFor, print = false } = options
      const agent = context.agent()
      // Hex never begins with `-`, which a command line would take for an option.
      const draft = { to, body, type, replyTo, threadId, ttl, id: randomUUID().replaceAll('-', '') }
      const composing = { seal: sealFor ?? seal, signal: context.signal }
      const envelope = await beforeSending(context, mistakesNamed(agent.compose(draft, composing)))
      if (print) {
        context.out.raw(`${JSON.stringify(envelope)}\n`)
        return
      }
      const acceptReplies = options.acceptReplies === true && !to.startsWith('board:')
      await send(
        context,
        command,
        { client: agent, isRepeat: false },
        { draft, seal: composing.seal, acceptReplies, envelope },
      )
    })
}

async function repeat(context: Context, command: Command, id: string): Promise<void> {
  const client = context.agent()
  const message = await beforeSending(context, findUnsent(context.store(client), id))
  await send(context, command, { client, isRepeat: true }, message)
}

/** @throws NotSentError if no answer comes to what must be asked first. */
async function beforeSending<T>({ signal }: Context, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw isUnknown(error, signal) ? new NotSentError(error) : error
  }
}

async function send(
  context: Context,
  command: Command,
  { client, isRepeat }: { client: AgentClient; isRepeat: boolean },
  message: Unsent,
): Promise<void> {
  const { out, signal } = context
  const { id, to } = message.draft
  const onAcceptance = (acceptance: Acceptance): void => {
    if (acceptance === 'accepted') out.note(`accepted ${to}, for 1 unit; svc contacts remove ${to} takes it back`)
    if (acceptance === 'blocked') out.note(`${to} stays blocked, so its answers are refused`)
  }
  const sending = deliver({ client, store: context.store(client), signal, isRepeat, onAcceptance }, message)
  await report(context, id, sending, `svc send --repeat ${id}${optionsOf(command)}`)
}

export function addPost(program: Command, io: Io): void {
  program
    .command('post')
    .argument('<file>', 'an envelope that svc send --print made; - for standard input')
    .description('send an envelope as it is; safe to repeat: a repeat is reported as a duplicate')
    .addHelpText('after', '\nExample:\n  svc post once.json --key alice.key')
    .action(async (file: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const envelope = envelopeIn(await readTextOf(file, io), file)
      const sending = context.agent().post(envelope, { signal: context.signal })
      await report(context, envelope.id, sending, `svc post ${quoted(file)}${optionsOf(command)}`)
    })
}

async function readBody(io: Io, text: string | undefined, json: string | undefined): Promise<unknown> {
  if (json !== undefined) {
    if (text !== undefined) throw new UsageError('use either a text or --json-body, not both')
    return bodyIn(json === STDIN ? await readStdin(io) : json)
  }
  if (text !== undefined && text !== STDIN) return text
  if (text === undefined && io.stdin.isTTY === true) throw new UsageError('no text: svc send <to> <text>')
  const said = await readStdin(io)
  // Empty input usually means that the command before the pipe failed. Do not pay for an empty message.
  if (said === '') throw new UsageError('standard input is empty; svc send <to> "" sends an empty text')
  // A shell adds a line feed at the end. It is not part of the message.
  return said.replace(/\r?\n$/, '')
}

/** @param repeat the command that repeats the message. */
async function report(context: Context, id: string, sending: Promise<SendResult>, repeat: string): Promise<void> {
  let result: SendResult
  try {
    result = await sending
  } catch (error) {
    if (!isUnknown(error, context.signal)) throw error
    throw new UnknownOutcomeError(id, repeat, context.signal.aborted ? undefined : error)
  }
  context.out.print(result, [describe(result)], result.msg_id)
}

/** The options that say for which agent of which service a command is. */
function optionsOf(command: Command): string {
  const { profile, key, url, authority } = command.optsWithGlobals<GlobalOptions>()
  return Object.entries({ profile, key, url, authority })
    .map(([name, value]) => (value === undefined ? '' : ` --${name} ${quoted(value)}`))
    .join('')
}

/** A word for the shell. */
function quoted(text: string): string {
  return /^[A-Za-z0-9_./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

function describe({ msg_id, lane, duplicate }: SendResult): string {
  const what = duplicate ? 'accepted before' : 'accepted'
  const where = lane === 'requests' ? 'a request until the recipient accepts you as a contact' : lane
  return `${what}: ${msg_id} (${where})`
}

function bodyIn(text: string): JsonValue {
  try {
    return parseBody(text)
  } catch (cause) {
    throw new UsageError(`--json-body: ${(cause as Error).message}`, { cause })
  }
}

function envelopeIn(text: string, file: string): Envelope {
  let value: unknown
  try {
    value = parseBody(text, ENVELOPE_LEVELS)
  } catch (cause) {
    // Which calls the whole text the body.
    throw new UsageError(`${file}: ${(cause as Error).message.replace('body', 'envelope')}`, { cause })
  }
  if (typeof value !== 'object' || value === null || !('id' in value))
    throw new UsageError(`${file}: it is no envelope: svc send --print makes one`)
  return value as unknown as Envelope
}
