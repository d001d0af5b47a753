import { addAbortSignal, type Readable, type Writable } from 'node:stream'

/** All that a command touches of the process it runs in; tests give their own. */
export interface Io {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable & { readonly isTTY?: boolean }
  /** `columns`: of the terminal, where it is one. */
  readonly stdout: Writable & { readonly columns?: number; readonly isTTY?: boolean }
  readonly stderr: Writable & { readonly isTTY?: boolean }
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal
}

/** More than any request takes. */
const MAX_STDIN_BYTES = 1024 * 1024

/** Standard input to its end. @throws UsageError where there is more than a message can be, or it is not UTF-8. */
export async function readStdin({ stdin, signal }: Io): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of addAbortSignal(signal, stdin)) {
    const buffer = Buffer.from(chunk as Buffer | string)
    bytes += buffer.length
    if (bytes > MAX_STDIN_BYTES) throw new UsageError('standard input is over 1 MiB, more than a message can be')
    chunks.push(buffer)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (cause) {
    throw new UsageError('standard input is not UTF-8', { cause })
  }
}

/** The command cannot be carried out as it was given; nothing was sent. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** What the system says of a file: `no such file or directory`, without the path and the system call. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return /^[A-Z]+: ([^,]+),/.exec(message)?.[1] ?? message
}
