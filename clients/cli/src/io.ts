import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { addAbortSignal, type Readable, type Writable } from 'node:stream'

/** Everything that a command uses of its process. Tests pass substitutes. */
export interface Io {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable & { readonly isTTY?: boolean }
  /** `columns`: width of the terminal, if stdout is a terminal. */
  readonly stdout: Writable & { readonly columns?: number; readonly isTTY?: boolean }
  readonly stderr: Writable & { readonly isTTY?: boolean }
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal
}

/** More than any request may have. */
const MAX_STDIN_BYTES = 1024 * 1024

/** Reads standard input to its end. @throws UsageError if it is larger than any message, or not UTF-8. */
export async function readStdin({ stdin, signal }: Io): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of addAbortSignal(signal, stdin)) {
    const buffer = Buffer.from(chunk as Buffer | string)
    bytes += buffer.length
    if (bytes > MAX_STDIN_BYTES)
      throw new UsageError('standard input is larger than 1 MiB, more than a message can hold')
    chunks.push(buffer)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (cause) {
    throw new UsageError('standard input is not UTF-8', { cause })
  }
}

/** Reads a text file, or standard input for `-`. @throws UsageError. */
export async function readTextOf(file: string, io: Io): Promise<string> {
  if (file === '-') return readStdin(io)
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`${file} cannot be read`, { cause })
  }
}

/** Asks on the terminal. @returns undefined if there is none. */
export async function askOnTerminal(question: string, { stdin, stderr, signal }: Io): Promise<string | undefined> {
  if (stdin.isTTY !== true) return undefined
  const terminal = createInterface({ input: stdin, output: stderr })
  try {
    return (await terminal.question(question, { signal })).trim()
  } finally {
    terminal.close()
  }
}

/** The command line, a file or a variable is invalid. Nothing was sent. */
export class UsageError extends Error {
  override name = 'UsageError'
}
