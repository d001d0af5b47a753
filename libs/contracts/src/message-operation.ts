/**
 * What budget knows the charge of a message by: its id and its hash, so that a retry is never charged twice and a conflicting
 * id never releases somebody else's reservation (ADR 21). The gateway reserves under it, messaging settles it.
 */

const MESSAGE = 'messaging:message:'

/** @param digest SHA-256 of the envelope's JCS bytes, lower-case hex. */
export function messageOperation(id: string, digest: string): string {
  return `${MESSAGE}${id}:${digest}`
}

/** Id and digest of a message's operation, undefined for any other operation. */
export function parseMessageOperation(operation: string): { id: string; digest: string } | undefined {
  if (!operation.startsWith(MESSAGE)) return undefined
  const [id, digest] = operation.slice(MESSAGE.length).split(':')
  return id === undefined || digest === undefined ? undefined : { id, digest }
}
