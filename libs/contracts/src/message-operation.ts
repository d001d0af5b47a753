/**
 * The operation id of a message's charge (ADR 21). It contains the message's id, so that a retry is never charged twice. It
 * contains the hash too, so that another message with the same id cannot release this reservation. The gateway reserves
 * under this id; messaging settles under it.
 */

const MESSAGE = 'messaging:message:'

/** @param digest SHA-256 of the envelope's JCS bytes, lower-case hex. */
export function messageOperation(id: string, digest: string): string {
  return `${MESSAGE}${id}:${digest}`
}

/** Parses a message's operation into id and digest; undefined for any other operation. */
export function parseMessageOperation(operation: string): { id: string; digest: string } | undefined {
  if (!operation.startsWith(MESSAGE)) return undefined
  const [id, digest] = operation.slice(MESSAGE.length).split(':')
  return id === undefined || digest === undefined ? undefined : { id, digest }
}
