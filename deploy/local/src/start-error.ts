/** A failure that the user who starts the stack can solve. Only its message is shown: one sentence that says what to do. */
export class StartError extends Error {
  override name = 'StartError'
}

/** The code of a system error (`EACCES`, `EADDRINUSE`, ...), or an empty string. */
export function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}
