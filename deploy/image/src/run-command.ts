import { ConfigError } from '@svc/config/env-reader.ts'
import { TlsError } from '@svc/tls/failure.ts'

interface Command {
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** One line of JSON, as services log. */
  say: (message: string, fields?: Record<string, string>) => void
}

/** Runs a command that ends: exit code 0, 78 (EX_CONFIG) for a mistake of whoever started it, else 1. */
export async function runCommand(command: (context: Command) => Promise<void>): Promise<void> {
  const say: Command['say'] = (message, fields = {}) =>
    console.log(JSON.stringify({ level: 30, time: Date.now(), ...fields, msg: message }))
  try {
    await command({ args: process.argv.slice(2), env: process.env, say })
    process.exitCode = 0
  } catch (error) {
    // Both are sentences for the operator; what is behind a failure of TLS has a whole certificate in it.
    console.error(error instanceof ConfigError || error instanceof TlsError ? error.message : error)
    process.exitCode = error instanceof ConfigError ? 78 : 1
  }
}
