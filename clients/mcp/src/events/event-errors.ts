import { ProtocolError } from '@modelcontextprotocol/server'

/**
 * The codes of the extension `io.modelcontextprotocol/events`. They are those of the draft SEP-3415, which may still change them, so
 * they are in this one place.
 */
const CODES = {
  InvalidParams: -32_602,
  NotFound: -32_023,
  Forbidden: -32_024,
  ResourceExhausted: -32_025,
  Unsupported: -32_026,
  CallbackEndpointError: -32_027,
  Internal: -32_603,
} as const

type EventErrorName = keyof typeof CODES

/** The code in a `terminated` body: the service no longer lets this agent read. */
export const FORBIDDEN: number = CODES.Forbidden

/** An error of the protocol. The message has nothing that others wrote. */
export function eventError(name: EventErrorName, message: string, data?: object): ProtocolError {
  return new ProtocolError(CODES[name], message, data)
}
