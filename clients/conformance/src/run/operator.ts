/** What an operator of the server does for a case (spec 11.4, 12.4), by running the operator's own command. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface Operator {
  /** Runs the operator's command with these arguments. @returns its standard output. @throws Error with its output if it fails. */
  run(...args: readonly string[]): Promise<string>
}

/** @param command such as `npx svc admin`; split at spaces. */
export function createOperator(command: string, env: NodeJS.ProcessEnv = process.env): Operator {
  const [program = '', ...first] = command.split(/\s+/).filter((part) => part !== '')
  return {
    async run(...args) {
      const { stdout } = await promisify(execFile)(program, [...first, ...args], { env })
      return stdout
    },
  }
}
