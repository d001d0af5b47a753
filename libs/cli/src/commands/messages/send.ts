import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Envelope, SendResult } from '@svc/contracts/resources.ts'
import { AnswerError, NetworkError } from '@svc/sdk/errors.ts'
import { type Command, Option } from 'commander'
import { wholeNumber } from '../../arguments.ts'
import { type Context, contextOf } from '../../context.ts'
import { type Io, readStdin, UsageError } from '../../io.ts'

interface SendOptions {
  readonly jsonBody?: string
  readonly seal?: boolean
  readonly sealFor?: string
  readonly type?: 'request' | 'response' | 'event' | 'error'
  readonly replyTo?: string
  readonly thread?: string
  readonly ttl?: number
  readonly print?: boolean
}

const STDIN = '-'

export function addSend(program: Command, io: Io): void {
  program
    .command('send')
    .argument('<to>', 'a name, name@authority, or board:<id>')
    .argument('[text]', 'the message; read from standard input if absent or -')
    .description('send a signed message, or a sealed one, to an agent or to a board')
    .addOption(new Option('--json-body <json>', 'a JSON value instead of text; - for standard input'))
    .option('--seal', 'encrypt it for the key that the service has for the name')
    .option('--seal-for <pubkey>', 'encrypt it for this public key')
    .addOption(
      new Option('--type <type>', 'default: event').choices(['request', 'response', 'event', 'error'] as const),
    )
    .option('--reply-to <id>', 'the message that this one answers')
    .option('--thread <id>', 'the first message of the conversation')
    .option('--ttl <seconds>', 'the message expires after this time', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--print', 'print the envelope instead of sending it; svc post sends it')
    .addHelpText(
      'after',
      `
Put -- before a text that begins with -.

Examples:
  svc send --key alice.key bob "hello"
  svc send --key alice.key bob --seal "for bob alone"
  svc send --key alice.key board:<id> "hello, all"
  svc send --key alice.key bob --json-body '{"task":"sum","of":[1,2]}' --type request
  git log -1 | svc send --key alice.key bob
  svc send --key alice.key bob "once" --print > once.json && svc post once.json --key alice.key`,
    )
    .action(async (to: string, text: string | undefined, options: SendOptions, command: Command) => {
      const context = contextOf(io, command)
      const body = await readBody(io, text, options.jsonBody)
      const { type, replyTo, thread: threadId, ttl, seal = false, sealFor, print = false } = options
      const agent = context.agent()
      // Hex never begins with `-`, which a command line would take for an option.
      const draft = { to, body, type, replyTo, threadId, ttl, id: randomUUID().replaceAll('-', '') }
      const composing = { seal: sealFor ?? seal, signal: context.signal }
      if (print) context.out.raw(`${JSON.stringify(await mistakesNamed(agent.compose(draft, composing)))}\n`)
      else await report(context, draft.id, mistakesNamed(agent.send(draft, composing)))
    })
}

export function addPost(program: Command, io: Io): void {
  program
    .command('post')
    .argument('<file>', 'an envelope that svc send --print made; - for standard input')
    .description('send an envelope as it is; safe to repeat: a repeat is reported as a duplicate')
    .addHelpText('after', '\nExample:\n  svc post once.json --key alice.key')
    .action(async (file: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const envelope = parseJson(file === STDIN ? await readStdin(io) : readText(file), file)
      const sending = context.agent().post(envelope as Envelope, { signal: context.signal })
      await report(context, (envelope as Envelope).id, sending)
    })
}

async function readBody(io: Io, text: string | undefined, json: string | undefined): Promise<unknown> {
  if (json !== undefined) {
    if (text !== undefined) throw new UsageError('use either a text or --json-body, not both')
    return parseJson(json === STDIN ? await readStdin(io) : json, '--json-body')
  }
  if (text !== undefined && text !== STDIN) return text
  if (text === undefined && io.stdin.isTTY === true) throw new UsageError('no text: svc send <to> <text>')
  const said = await readStdin(io)
  // Empty input usually means that the command before the pipe failed. Do not pay for an empty message.
  if (said === '') throw new UsageError('standard input is empty; svc send <to> "" sends an empty text')
  // A shell adds a line feed at the end. It is not part of the message.
  return said.replace(/\r?\n$/, '')
}

/** Mistakes in the arguments of the SDK are mistakes on the command line. */
async function mistakesNamed<T>(composing: Promise<T>): Promise<T> {
  try {
    return await composing
  } catch (cause) {
    if (cause instanceof TypeError || cause instanceof RangeError) throw new UsageError(cause.message, { cause })
    throw cause
  }
}

async function report(context: Context, id: string, sending: Promise<SendResult>): Promise<void> {
  let result: SendResult
  try {
    result = await sending
  } catch (error) {
    if (error instanceof NetworkError || error instanceof AnswerError) {
      context.out.warn(`it is unknown whether message ${id} was accepted; check with svc receipt ${id}`)
    }
    throw error
  }
  context.out.print(result, [describe(result)], result.msg_id)
}

function describe({ msg_id, lane, duplicate }: SendResult): string {
  const what = duplicate ? 'accepted before' : 'accepted'
  const where = lane === 'requests' ? 'a request until the recipient accepts you as a contact' : lane
  return `${what}: ${msg_id} (${where})`
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${what} is not JSON`, { cause })
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`${file} cannot be read`, { cause })
  }
}
