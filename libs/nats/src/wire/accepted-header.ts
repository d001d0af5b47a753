import type { MsgHdrs } from 'nats'

/** The header of an accepted event with the moment of its acceptance. Only metrics read it, and an event may lack it. */
export const ACCEPTED_MS = 'agentmsg-accepted-ms'

/** Unix milliseconds, by the clock of messaging or of its database. */
export function acceptedMsOf(headers: MsgHdrs | undefined): number | undefined {
  const acceptedMs = Number(headers?.get(ACCEPTED_MS) || Number.NaN)
  return Number.isSafeInteger(acceptedMs) ? acceptedMs : undefined
}
