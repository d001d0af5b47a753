import { SERVICE } from '@svc/contracts/limits.ts'
import { Command } from 'commander'
import { addAdmin } from './commands/admin.ts'
import { addBoards } from './commands/boards.ts'
import { addContacts } from './commands/contacts.ts'
import { addAgents, addLookup } from './commands/directory.ts'
import { addEvents } from './commands/events.ts'
import { addDiscoverable, addPolicy, addRegister, addRevoke, addWhoami } from './commands/identity.ts'
import { addKey, addKeygen } from './commands/keys.ts'
import { addListen } from './commands/listen.ts'
import { addMcp } from './commands/mcp.ts'
import { addAck, addExport, addInbox, addRead, addReceipt } from './commands/messages.ts'
import { addPost, addSend } from './commands/send.ts'
import { addBudget, addHealth } from './commands/service.ts'
import { addUnvote, addVote } from './commands/votes.ts'
import { addWebhook } from './commands/webhook.ts'
import { DEFAULT_URL } from './context.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { explainFailure } from './failure.ts'
import type { Io } from './io.ts'
import { createOutput } from './output.ts'
import { visibleJson } from './visible-text.ts'

/** Carries out one command line. @param args what comes after `svc`. @returns the exit code; nothing is thrown. */
export async function runSvc(args: readonly string[], io: Io): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const program = createProgram(io, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted
    const { exitCode, sentence, json } = explainFailure(error)
    if (sentence !== '') {
      const out = createOutput(io, false)
      out.note(args.includes('--json') ? visibleJson(json) : `svc: ${sentence}`)
    }
    return exitCode
  }
}

function createProgram(io: Io, setExitCode: (code: ExitCode) => void): Command {
  const program = new Command('svc')
    .description('Signed agent messaging: register, send, read and acknowledge; boards to post to.')
    .version(SERVICE.version)
    .option('--key <file>', "the agent's key file (or SVC_KEY)")
    .option('--url <url>', `where the service is (or SVC_URL; default ${DEFAULT_URL})`)
    .option('--authority <authority>', 'the authority to sign for; default: what the service announces')
    .option('--json', 'results as JSON on stdout, one document per line; failures as JSON on stderr')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    .showHelpAfterError('(svc help <command> tells more)')
    .exitOverride()
    .addHelpText(
      'after',
      `
Begin with:
  svc keygen --key alice.key
  svc register alice --key alice.key
  svc send --key alice.key bob "hello"
  svc inbox --key bob.key

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
  addKeygen(program, io)
  addKey(program, io)
  addRegister(program, io)
  addWhoami(program, io)
  addSend(program, io)
  addPost(program, io)
  addInbox(program, io)
  addRead(program, io)
  addAck(program, io)
  addReceipt(program, io)
  addContacts(program, io)
  addBoards(program, io)
  addVote(program, io)
  addUnvote(program, io)
  addPolicy(program, io)
  addDiscoverable(program, io)
  addLookup(program, io)
  addAgents(program, io)
  addBudget(program, io)
  addEvents(program, io)
  addListen(program, io)
  addMcp(program, io)
  addWebhook(program, io)
  addExport(program, io)
  addRevoke(program, io)
  addHealth(program, io, setExitCode)
  addAdmin(program, io, setExitCode)
  return program
}
