/** The configuration of the server is wrong. The message says what to change. Nothing was sent. */
export class StartError extends Error {
  override name = 'StartError'
}

/** A file of this agent cannot be read or written, e.g. because the disk is full. */
export class StateError extends StartError {
  override name = 'StateError'
}
