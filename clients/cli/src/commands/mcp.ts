import { StartError } from '@svc/mcp/errors.ts'
import type { McpStatus } from '@svc/mcp/status.ts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { agentName, TOLD, wholeNumber } from '../arguments.ts'
import { type Context, contextOf } from '../context.ts'
import { configFolder, defaultKeyPath } from '../files/places.ts'
import { type Io, UsageError } from '../io.ts'
import { columns } from '../output/output.ts'

interface McpOptions {
  readonly register?: string
  readonly state?: string
  readonly pin: string[]
  readonly http?: number
  readonly tokenFile?: string
  readonly readOnly?: boolean
  readonly contactsOnly?: boolean
  readonly requireVerified?: boolean
  readonly allowStrangers?: boolean
  readonly eventText?: boolean
  readonly channel?: 'contacts' | 'anyone' | true
  readonly maxUnits: number
  readonly maxDailyUnits?: number
  readonly maxCharacters?: number
  readonly name?: string
}

const DEFAULT_MAX_UNITS = 10
const MAX_UNITS = 1_000_000

export function addMcp(program: Command, io: Io): void {
  const mcp = program
    .command('mcp')
    .description('serve this agent to a client of the Model Context Protocol, over stdio or HTTP')
    .option(
      '--register <name>',
      'create the key file if it does not exist, and register it under this name; without --key, it is the file of svc init',
      agentName,
    )
    .option('--read-only', 'offer no tool that sends, spends or changes anything')
    .option('--contacts-only', 'send only to accepted contacts; no posts, boards or votes')
    .option('--require-verified', 'withhold text whose sender is not verified')
    .option('--event-text', 'let events carry the text of messages; otherwise they only name messages')
    .addOption(
      new Option(
        '--channel [whom]',
        'tell a session of Claude Code of new messages, without their text: of contacts (default), or of anyone',
      ).choices(['contacts', 'anyone']),
    )
    .option('--allow-strangers', 'do not ask before writing to an agent or a board for the first time')
    .option('--max-units <n>', 'ask before a call that may cost more', wholeNumber(0, MAX_UNITS), DEFAULT_MAX_UNITS)
    .option(
      '--max-daily-units <n>',
      'ask before the units of a day exceed this; default: the free units of the day',
      wholeNumber(0, MAX_UNITS),
    )
    .option(
      '--pin <name=id-or-key>',
      `${TOLD}: then no other key is believed for this name; may be repeated`,
      collect,
      [],
    )
    .option('--state <folder>', 'folder for the cursor, pinned keys and sent messages; default: <key file>.state')
    .option('--http <port>', 'serve Streamable HTTP on 127.0.0.1 instead of stdio', wholeNumber(0, 65_535))
    .option('--token-file <file>', 'the token for HTTP, created if missing; default: <key file>.token')
    .option(
      '--max-characters <n>',
      'the most bytes of messages in one result; each message counts twice, as text and as structure; default 20000',
      wholeNumber(1_000, 1_000_000),
    )
    .option(
      '--name <name>',
      'name of the server, which begins the names of its tools: for two mailboxes in one client',
      serverName,
    )
    .addHelpText(
      'after',
      '\nExample:\n  svc mcp --register alice\n\ndocs/guides/mcp.md shows how to configure clients.',
    )
    .action(async (options: McpOptions, command: Command) => {
      const context = contextOf(io, command)
      const { url, authority } = context.target
      const { serve } = await import('@svc/mcp/serve.ts') // Other commands start sooner without it.
      try {
        await serve(
          {
            ...(authority === undefined ? {} : { authority }),
            url,
            keyPath: keyPathOf(context, options.register),
            register: options.register,
            statePath: options.state,
            pins: options.pin,
            httpPort: options.http,
            tokenPath: options.tokenFile,
            resultCharacters: options.maxCharacters,
            serverName: options.name,
            channel: options.channel === true ? 'contacts' : options.channel,
            policy: {
              readOnly: options.readOnly ?? false,
              contactsOnly: options.contactsOnly ?? false,
              requireVerified: options.requireVerified ?? false,
              eventText: options.eventText ?? false,
              askStrangers: !(options.allowStrangers ?? false),
              maxUnits: options.maxUnits,
              maxDailyUnits: options.maxDailyUnits,
            },
          },
          io,
        )
      } catch (error) {
        if (error instanceof StartError) throw new UsageError(error.message, { cause: error })
        throw error
      }
    })
  addStatus(mcp, io)
}

function addStatus(mcp: Command, io: Io): void {
  mcp
    .command('status')
    .description(
      'show which messages a channel has told of, which were read and answered since, and the event subscriptions',
    )
    .addHelpText(
      'after',
      `
Told means written to the client, read means that a tool has shown the message, and answered means that an answer was sent.
None of them implies the next. A channel that is not loaded in the session drops notifications silently.

Give the --key, --register, --url and --state of the server.

Examples:
  svc mcp status --key alice.key --url https://agents.example
  svc mcp status --register alice`,
    )
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      const { readStatus } = await import('@svc/mcp/status.ts')
      try {
        const { state, register } = command.optsWithGlobals<{ state?: string; register?: string }>()
        const where = { url: context.target.url, keyPath: keyPathOf(context, register), statePath: state }
        const status = readStatus(where)
        context.out.print(status, linesOf(status))
      } catch (error) {
        if (error instanceof StartError) throw new UsageError(error.message, { cause: error })
        throw error
      }
    })
}

function linesOf({ listening, channel, subscriptions }: McpStatus): string[] {
  const told = channel.told.map(
    ({ message_id, told_at, read_at, answered_at }) =>
      `  ${message_id}  told ${told_at}  read ${read_at ?? 'no'}  answered ${answered_at ?? 'no'}`,
  )
  const subscribed = subscriptions.map(
    ({ id, host, expires_at, active, last_delivery_at, last_error }) =>
      `  ${id}  ${host}  ${active ? 'active' : 'suspended'}  until ${expires_at}  last delivery ${last_delivery_at ?? 'none'}  last error ${last_error ?? 'none'}`,
  )
  return [
    ...columns({ listening: listening ? 'yes' : 'no', channel: channel.running ? 'running' : 'not running' }),
    `told: ${told.length}`,
    ...told,
    `subscriptions: ${subscribed.length}`,
    ...subscribed,
  ]
}

/** Short, because some clients refuse names of tools with more than 64 characters, and add the server's name once more. */
function serverName(value: string): string {
  if (/^[a-z][a-z0-9-]{0,15}$/.test(value)) return value
  throw new InvalidArgumentError('It must have 1 to 16 characters of a-z, 0-9 and -, and begin with a letter.')
}

/** The default profile may be another agent, so a name that is registered here has the key file that `svc init` makes for it. */
function keyPathOf({ io, target, keyPath }: Context, name: string | undefined): string {
  return name === undefined || target.isNamed ? keyPath() : defaultKeyPath(configFolder(io.env), name)
}

function collect(value: string, earlier: string[]): string[] {
  return [...earlier, value]
}
