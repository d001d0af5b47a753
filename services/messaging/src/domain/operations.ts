/**
 * Operation ids of what messaging charges for. A message's is its id and its hash, so that a retry is never charged
 * twice and a conflicting id never releases somebody else's reservation (design.md, Charging).
 */

const MESSAGE = 'messaging:message:'

export function messageOperation(id: string, digest: string): string {
  return `${MESSAGE}${id}:${digest}`
}

/** Id and digest of a message's operation, undefined for any other operation. */
export function parseMessageOperation(operation: string): { id: string; digest: string } | undefined {
  if (!operation.startsWith(MESSAGE)) return undefined
  const [id, digest] = operation.slice(MESSAGE.length).split(':')
  return id === undefined || digest === undefined ? undefined : { id, digest }
}

export function contactOperation(uuid: string): string {
  return `messaging:contact:${uuid}`
}

export function voteOperation(uuid: string): string {
  return `messaging:vote:${uuid}`
}
