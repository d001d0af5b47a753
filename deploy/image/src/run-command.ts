import { ConfigError } from '@svc/config/env-reader.ts'
import { TlsError } from '@svc/tls/failure.ts'

interface Command {
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** Logs one line of JSON, as services do. */
  say: (message: string, fields?: Record<string, string>) => void
}

/**
 * Runs a command to its end. Exit code 0; 78 (EX_CONFIG) for a mistake in its arguments or environment; 1 for any other
 * failure.
 */
export async function runCommand(command: (context: Command) => Promise<void>): Promise<void> {
  const say: Command['say'] = (message, fields = {}) =>
    console.log(JSON.stringify({ level: 30, time: Date.now(), ...fields, msg: message }))
  try {
    await command({ args: process.argv.slice(2), env: process.env, say })
    process.exitCode = 0
  } catch (error) {
    // Logs only the messages, which are written for the operator. The cause of a TLS failure contains a whole certificate.
    console.error(error instanceof ConfigError || error instanceof TlsError ? error.message : error)
    process.exitCode = error instanceof ConfigError ? 78 : 1
  }
}
