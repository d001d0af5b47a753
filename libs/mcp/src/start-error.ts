/** The server cannot start as it was configured; the message says what to change. Nothing was sent. */
export class StartError extends Error {
  override name = 'StartError'
}
