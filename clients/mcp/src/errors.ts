/** The configuration of the server is wrong. The message says what to change. Nothing was sent. */
export class StartError extends Error {
  override name = 'StartError'
}
