import { SERVICE } from '@svc/contracts/limits.ts'
import { Command, Option } from 'commander'
import { addA2a } from './commands/a2a.ts'
import { addDiscoverable, addPolicy, addRegister, addRevoke, addWhoami } from './commands/account/identity.ts'
import { addInit } from './commands/account/init.ts'
import { addKey, addKeygen } from './commands/account/keys.ts'
import { addProfiles } from './commands/account/profiles.ts'
import { addContacts } from './commands/agents/contacts.ts'
import { addAgents, addLookup } from './commands/agents/directory.ts'
import { addBoards } from './commands/boards/boards.ts'
import { addUnvote, addVote } from './commands/boards/votes.ts'
import { addCompletion } from './commands/completion.ts'
import { addDoctor } from './commands/doctor.ts'
import { addMcp } from './commands/mcp.ts'
import { addEvents } from './commands/messages/events.ts'
import { addListen } from './commands/messages/listen.ts'
import { addAck, addExport, addInbox, addRead, addReceipt } from './commands/messages/messages.ts'
import { addPost, addSend } from './commands/messages/send.ts'
import { addWebhook } from './commands/messages/webhook.ts'
import { addBudget, addHealth } from './commands/service.ts'
import { DEFAULT_URL } from './context.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { explainFailure, UnknownOutcomeError } from './failure.ts'
import { type Io, UsageError } from './io.ts'
import { nearest } from './nearest.ts'
import { createOutput } from './output/output.ts'
import { isColoured, paint } from './output/style.ts'
import { visibleJson } from './output/visible-text.ts'

const DEFAULT_COLUMNS = 100

/** Adds a command or a group of commands. */
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
  addA2a,
  addWebhook,
  addExport,
  addRevoke,
  addHealth,
  addDoctor,
  addCompletion,
]

/**
 * Runs one command line. Never throws.
 * @param args the arguments after `svc`.
 * @param more commands that are not in every build. The published package leaves out the operator's commands.
 * @returns the exit code.
 */
export async function runSvc(args: readonly string[], io: Io, more: readonly AddCommand[] = []): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const isJson = wantsJson(args)
  const program = createProgram(io, { commands: [...COMMANDS, ...more], isJson }, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    // An interrupt ends svc without an error, unless a message was perhaps sent.
    if (io.signal.aborted && !(error instanceof UnknownOutcomeError)) return EXIT.interrupted
    const { exitCode, sentence, json } = explainFailure(error, io.env)
    const out = createOutput(io, 'table')
    if (isJson && exitCode !== EXIT.ok) out.warn(visibleJson(json))
    else if (sentence !== '') {
      io.stderr.write(isColoured(io.env, io.stderr) ? `${paint('svc:', 'bad')} ` : 'svc: ')
      out.warn(sentence)
    }
    return exitCode
  }
}

/** Works even if the command line could not be parsed. */
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

function createProgram(
  io: Io,
  { commands, isJson }: { commands: readonly AddCommand[]; isJson: boolean },
  setExitCode: (code: ExitCode) => void,
): Command {
  const program = new Command('svc')
    .description('Signed agent messaging: register, send, read and acknowledge; boards to post to.')
    .version(SERVICE.version)
    .option('--profile <name>', 'profile of the agent to use (or SVC_PROFILE; svc profiles lists them)')
    .option('--key <file>', "the agent's key file (or SVC_KEY)")
    .option('--url <url>', `URL of the service (or SVC_URL; default ${DEFAULT_URL})`)
    .option('--authority <authority>', 'the authority to sign for; default: the one that the service announces')
    .addOption(
      new Option('--output <format>', 'print a table, one JSON document, or one JSON document per line')
        .choices(['table', 'json', 'ndjson'])
        .conflicts(['json', 'quiet']),
    )
    .addOption(
      new Option('--json', 'short for --output ndjson; with JSON output, errors are JSON on stderr').conflicts('quiet'),
    )
    .option('-q, --quiet', 'print only ids, one per line, and no notes')
    .configureHelp({ showGlobalOptions: true, styleTitle: (text) => paint(text, 'strong') })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      // With JSON output, `runSvc` prints the error.
      writeErr: (text) => isJson || io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? DEFAULT_COLUMNS,
      getErrHelpWidth: () => DEFAULT_COLUMNS,
      getOutHasColors: () => isColoured(io.env, io.stdout),
      getErrHasColors: () => isColoured(io.env, io.stderr),
    })
    .showHelpAfterError('(see svc help <command>)')
    .exitOverride()
    .addHelpText(
      'after',
      `
Get started:
  svc init alice
  svc init bob
  svc send bob "hello" --profile alice
  svc inbox --requests --profile bob

If something does not work: svc doctor

Exit codes:
  0  done
  1  the service refused; the message has its code
  2  the command, a file or a variable is invalid; nothing was sent
  3  it is unknown whether the request took effect: no answer, or an answer that does not say it
  4  a message could not be opened or verified
  5  the books do not add up (svc admin verify)
  70 a bug in svc
  130 interrupted`,
    )
  for (const add of commands) add(program, io, setExitCode)
  for (const group of program.commands) suggestInGroup(group)
  return program
}

/** In a group with a default command, commander treats a mistyped command as a surplus argument of the default command. */
function suggestInGroup(group: Command): void {
  const names = group.commands.map((command) => command.name())
  for (const command of group.commands) {
    suggestInGroup(command)
    command.allowExcessArguments(true).hook('preAction', (_this, { args, registeredArguments }) => {
      const surplus = args[registeredArguments.length]
      if (surplus === undefined || registeredArguments.at(-1)?.variadic === true) return
      if (group.args[0] === command.name()) {
        throw new UsageError(
          `svc ${group.name()} ${command.name()} does not take the argument ${surplus}: see svc help ${group.name()}`,
        )
      }
      const meant = nearest(surplus, names)
      const hint = meant === undefined ? `its commands are ${names.join(', ')}` : `did you mean ${meant}?`
      throw new UsageError(`svc ${group.name()} has no command ${surplus}: ${hint}`)
    })
  }
}
