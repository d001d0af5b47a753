import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const PACKAGES = new URL('../node_modules/', import.meta.url)

export interface Verdict {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface JudgeOptions {
  /** The name of the program, if it differs from the end of the package's name. */
  readonly program?: string
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
}

/** Starts a program of an npm package under the Node of this process. */
export function startJudge(
  packageName: string,
  args: readonly string[],
  { program = packageName.split('/').at(-1) ?? '', env, cwd }: JudgeOptions = {},
): ChildProcess {
  const folder = new URL(`${packageName}/`, PACKAGES)
  const { bin } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { bin: Record<string, string> }
  const file = fileURLToPath(new URL(bin[program] ?? '', folder))
  return spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
}

/** Runs a program of an npm package to its end. */
export async function runJudge(packageName: string, args: readonly string[], options?: JudgeOptions): Promise<Verdict> {
  const child = startJudge(packageName, args, options)
  if (child.stdout === null || child.stderr === null) throw new Error('the judge has no output')
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number | null, stdout, stderr }
}
