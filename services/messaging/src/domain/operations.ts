/** Operation ids that only messaging uses. Those of messages are in contracts, because other services use them too. */

export function contactOperation(uuid: string): string {
  return `messaging:contact:${uuid}`
}

export function voteOperation(uuid: string): string {
  return `messaging:vote:${uuid}`
}
