import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

interface RunOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

/** @returns the output of the command. @throws Error with its error output. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { ...options, maxBuffer: 64 << 20 })
    return stdout
  } catch (error) {
    const { code, stderr = '', stdout = '' } = error as { code?: unknown; stderr?: string; stdout?: string }
    const said = code === 'ENOENT' ? `is not installed (apt-get install ${command})` : `${stderr}${stdout}`.trim()
    throw new Error(`${command} ${args.slice(0, 3).join(' ')} …: ${said}`, { cause: error })
  }
}
