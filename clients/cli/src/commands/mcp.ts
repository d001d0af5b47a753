import { StartError } from '@svc/mcp/errors.ts'
import { serve } from '@svc/mcp/serve.ts'
import type { Command } from 'commander'
import { agentName, TOLD, wholeNumber } from '../arguments.ts'
import { type Context, contextOf } from '../context.ts'
import { configFolder, defaultKeyPath } from '../files/places.ts'
import { type Io, UsageError } from '../io.ts'

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
  readonly maxUnits: number
  readonly maxDailyUnits?: number
  readonly maxCharacters?: number
}

const DEFAULT_MAX_UNITS = 10
const MAX_UNITS = 1_000_000

export function addMcp(program: Command, io: Io): void {
  program
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
      "the most characters of others' text in one result; default 20000",
      wholeNumber(1_000, 1_000_000),
    )
    .addHelpText(
      'after',
      '\nExample:\n  svc mcp --register alice\n\ndocs/guides/mcp.md shows how to configure clients.',
    )
    .action(async (options: McpOptions, command: Command) => {
      const context = contextOf(io, command)
      const { url, authority } = context.target
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
            policy: {
              readOnly: options.readOnly ?? false,
              contactsOnly: options.contactsOnly ?? false,
              requireVerified: options.requireVerified ?? false,
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
}

/** The default profile may be another agent, so a name that is registered here has the key file that `svc init` makes for it. */
function keyPathOf({ io, target, keyPath }: Context, name: string | undefined): string {
  return name === undefined || target.isNamed ? keyPath() : defaultKeyPath(configFolder(io.env), name)
}

function collect(value: string, earlier: string[]): string[] {
  return [...earlier, value]
}
