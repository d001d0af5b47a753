/** Operation ids of what messaging charges for besides messages, whose ids others know too (contracts, message-operation.ts). */

export function contactOperation(uuid: string): string {
  return `messaging:contact:${uuid}`
}

export function voteOperation(uuid: string): string {
  return `messaging:vote:${uuid}`
}
