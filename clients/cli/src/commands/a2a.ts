import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import { contextOf } from '../context.ts'
import { type Io, UsageError } from '../io.ts'

interface A2aOptions {
  readonly port: number
  readonly agent?: string
  readonly agentTokenFile?: string
  readonly state?: string
  readonly tokenFile?: string
  readonly wait: number
}

const DEFAULT_WAIT_SECONDS = 50

export function addA2a(program: Command, io: Io): void {
  program
    .command('a2a')
    .description('let A2A clients here use the agents of contacts, and contacts the A2A agent here')
    .option('--agent <url>', "the URL of this machine's A2A agent, which contacts may then use")
    .option('--agent-token-file <file>', 'file with the bearer token that the agent wants')
    .option(
      '--port <port>',
      'serve A2A clients on 127.0.0.1, one endpoint for each contact; 0: any free port',
      wholeNumber(0, 65_535),
      0,
    )
    .option('--token-file <file>', 'the token for clients, created if missing; default: <key file>.token')
    .option('--state <folder>', 'folder for tasks and unsent messages; default: <key file>.a2a')
    .option(
      '--wait <seconds>',
      'how long a blocking call waits for its result',
      wholeNumber(1, 3_600),
      DEFAULT_WAIT_SECONDS,
    )
    .addHelpText(
      'after',
      `
Both sides accept each other as contacts first: svc contacts accept <name>.

Examples:
  svc a2a --agent http://127.0.0.1:4000/     let contacts use this agent
  svc a2a --port 4100                        then http://127.0.0.1:4100/bob/ is the agent of bob

docs/guides/a2a.md says more.`,
    )
    .action(async (options: A2aOptions, command: Command) => {
      const { target, key, keyPath } = contextOf(io, command)
      if (options.agentTokenFile !== undefined && options.agent === undefined)
        throw new UsageError('--agent-token-file needs --agent')
      // Says what to do if there is no key.
      key()
      const { serveA2a } = await import('@svc/a2a/serve.ts')
      const { StartError } = await import('@svc/mcp/errors.ts')
      try {
        await serveA2a(
          {
            url: target.url,
            authority: target.authority,
            keyPath: keyPath(),
            statePath: options.state,
            port: options.port,
            tokenPath: options.tokenFile,
            agentUrl: options.agent,
            agentToken: options.agentTokenFile === undefined ? undefined : readToken(options.agentTokenFile),
            waitSeconds: options.wait,
          },
          io,
        )
      } catch (error) {
        if (error instanceof StartError) throw new UsageError(error.message, { cause: error })
        throw error
      }
    })
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  }
}
