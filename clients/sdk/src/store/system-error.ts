/** Errors of the file system. */

/** The code of the system, such as `ENOENT`; undefined if there is none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** The system's reason without the path and the system call, e.g. `no such file or directory`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return /^[A-Z0-9]+: ([^,]+),/.exec(message)?.[1] ?? message
}
