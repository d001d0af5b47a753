import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { addAdmin } from '@svc/cli/commands/admin/admin.ts'
import { runSvc } from '@svc/cli/program.ts'
import { afterAll } from 'vitest'

export interface Run {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  /** Parses every line of stdout. @throws if one is not JSON. */
  documents<T = Record<string, unknown>>(): T[]
}

const NOWHERE = join(tmpdir(), 'svc-no-such-folder')
/** The state folder of all commands of a test file, unless a test names another one. */
const STATE = join(tmpdir(), `svc-cli-state-${process.pid}-${Date.now()}`)
afterAll(() => rmSync(STATE, { recursive: true, force: true }))

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly stdin?: string | Uint8Array | Readable
  /** Whether stdin and stderr are terminals. */
  readonly terminal?: boolean
  readonly signal?: AbortSignal
  /** Whether stdout is a terminal, which shows colours. */
  readonly coloured?: boolean
  /** Width of the terminal. Undefined if stdout is not a terminal. */
  readonly columns?: number
}

/** Runs `svc` in this process, with its own streams. */
export async function svc(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const {
    env = {},
    stdin = '',
    terminal = false,
    signal = new AbortController().signal,
    coloured = false,
    columns,
  } = options
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const input = stdin instanceof Readable ? stdin : Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)])
  const io = {
    // Ignore the profiles of the user who runs the tests.
    env: { SVC_CONFIG_DIR: NOWHERE, SVC_STATE_DIR: STATE, ...env },
    stdin: Object.assign(input, { isTTY: terminal }),
    stdout: Object.assign(stdout, { isTTY: coloured }, columns === undefined ? {} : { columns }),
    stderr: Object.assign(stderr, { isTTY: terminal }),
    signal,
  }
  const [exitCode, out, err] = await Promise.all([
    runSvc(args, io, [addAdmin]).finally(() => {
      stdout.end()
      stderr.end()
    }),
    textOf(stdout),
    textOf(stderr),
  ])
  return {
    exitCode,
    stdout: out,
    stderr: err,
    documents: <T>() =>
      out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as T),
  }
}

/** A folder that is removed when the test ends. */
export function temporaryFolder(): Disposable & { path(name: string): string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-cli-'))
  return {
    path: (name) => join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function textOf(stream: PassThrough): Promise<string> {
  const chunks = await stream.toArray()
  return Buffer.concat(chunks as Buffer[]).toString()
}
