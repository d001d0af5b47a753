import { SERVICE } from '@svc/contracts/limits.ts'
import { Command, Option } from 'commander'
import { addBoards } from './commands/boards.ts'
import { addCompletion } from './commands/completion.ts'
import { addContacts } from './commands/contacts.ts'
import { addAgents, addLookup } from './commands/directory.ts'
import { addDoctor } from './commands/doctor.ts'
import { addEvents } from './commands/events.ts'
import { addDiscoverable, addPolicy, addRegister, addRevoke, addWhoami } from './commands/identity.ts'
import { addInit } from './commands/init.ts'
import { addKey, addKeygen } from './commands/keys.ts'
import { addListen } from './commands/listen.ts'
import { addMcp } from './commands/mcp.ts'
import { addAck, addExport, addInbox, addRead, addReceipt } from './commands/messages.ts'
import { addProfiles } from './commands/profiles.ts'
import { addPost, addSend } from './commands/send.ts'
import { addBudget, addHealth } from './commands/service.ts'
import { addUnvote, addVote } from './commands/votes.ts'
import { addWebhook } from './commands/webhook.ts'
import { DEFAULT_URL } from './context.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { explainFailure } from './failure.ts'
import { type Io, UsageError } from './io.ts'
import { nearest } from './nearest.ts'
import { createOutput } from './output/output.ts'
import { isColoured, paint } from './output/style.ts'
import { visibleJson } from './output/visible-text.ts'

const DEFAULT_COLUMNS = 100

/** Adds one command, or a group of them. */
export type AddCommand = (program: Command, io: Io, setExitCode: (code: ExitCode) => void) => void

/** In the order of the help. */
const COMMANDS: readonly AddCommand[] = [
  addInit,
  addProfiles,
  addKeygen,
  addKey,
  addRegister,
  addWhoami,
  addSend,
  addPost,
  addInbox,
  addRead,
  addAck,
  addReceipt,
  addContacts,
  addBoards,
  addVote,
  addUnvote,
  addPolicy,
  addDiscoverable,
  addLookup,
  addAgents,
  addBudget,
  addEvents,
  addListen,
  addMcp,
  addWebhook,
  addExport,
  addRevoke,
  addHealth,
  addDoctor,
  addCompletion,
]

/**
 * Carries out one command line.
 * @param args what comes after `svc`.
 * @param more commands that not every build has: the operator's need what the published package leaves out.
 * @returns the exit code; nothing is thrown.
 */
export async function runSvc(args: readonly string[], io: Io, more: readonly AddCommand[] = []): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const program = createProgram(io, [...COMMANDS, ...more], (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted
    const { exitCode, sentence, json } = explainFailure(error)
    if (sentence !== '') {
      const out = createOutput(io, 'table')
      if (wantsJson(args)) out.warn(visibleJson(json))
      else {
        io.stderr.write(isColoured(io.env, io.stderr) ? `${paint('svc:', 'bad')} ` : 'svc: ')
        out.warn(sentence)
      }
    }
    return exitCode
  }
}

/** Also where the command line could not be understood. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  const options = end < 0 ? args : args.slice(0, end)
  return options.some(
    (option, at) =>
      option === '--json' ||
      /^--output=(nd)?json$/.test(option) ||
      (option === '--output' && /json/.test(args[at + 1] ?? '')),
  )
}

function createProgram(io: Io, commands: readonly AddCommand[], setExitCode: (code: ExitCode) => void): Command {
  const program = new Command('svc')
    .description('Signed agent messaging: register, send, read and acknowledge; boards to post to.')
    .version(SERVICE.version)
    .option('--profile <name>', 'which agent, by the name of its profile (or SVC_PROFILE; svc profiles)')
    .option('--key <file>', "the agent's key file (or SVC_KEY)")
    .option('--url <url>', `where the service is (or SVC_URL; default ${DEFAULT_URL})`)
    .option('--authority <authority>', 'the authority to sign for; default: what the service announces')
    .addOption(
      new Option('--output <format>', 'results as words, as one JSON document, or as one document per line')
        .choices(['table', 'json', 'ndjson'])
        .conflicts(['json', 'quiet']),
    )
    .addOption(new Option('--json', 'as --output ndjson; failures are JSON on stderr with both').conflicts('quiet'))
    .option('-q, --quiet', 'results as ids alone, one per line, and no notes')
    .configureHelp({ showGlobalOptions: true, styleTitle: (text) => paint(text, 'strong') })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? DEFAULT_COLUMNS,
      getErrHelpWidth: () => DEFAULT_COLUMNS,
      getOutHasColors: () => isColoured(io.env, io.stdout),
      getErrHasColors: () => isColoured(io.env, io.stderr),
    })
    .showHelpAfterError('(svc help <command> tells more)')
    .exitOverride()
    .addHelpText(
      'after',
      `
Begin with:
  svc init alice
  svc init bob
  svc send bob "hello" --profile alice
  svc inbox --requests --profile bob

Where something does not work: svc doctor

Exit codes:
  0  done
  1  the service refused; the message has its code
  2  the command, a file or a variable is not as it must be; nothing was sent
  3  no answer, or not one of this API; what was asked for may or may not have been done
  4  a message did not open, or is not from its sender
  5  the books do not add up (svc admin verify)
  70 a fault of svc itself
  130 interrupted`,
    )
  for (const add of commands) add(program, io, setExitCode)
  for (const group of program.commands) suggestInGroup(group)
  return program
}

/** A group with a default command takes a mistyped command for an argument too many of that one. */
function suggestInGroup(group: Command): void {
  const names = group.commands.map((command) => command.name())
  for (const command of group.commands) {
    suggestInGroup(command)
    command.allowExcessArguments(true).hook('preAction', (_this, { args, registeredArguments }) => {
      const surplus = args[registeredArguments.length]
      if (surplus === undefined || registeredArguments.at(-1)?.variadic === true) return
      if (group.args[0] === command.name()) {
        throw new UsageError(
          `svc ${group.name()} ${command.name()} does not take ${surplus}: svc help ${group.name()} tells more`,
        )
      }
      const meant = nearest(surplus, names)
      const hint = meant === undefined ? `it knows ${names.join(', ')}` : `did you mean ${meant}?`
      throw new UsageError(`svc ${group.name()} has no ${surplus}: ${hint}`)
    })
  }
}
