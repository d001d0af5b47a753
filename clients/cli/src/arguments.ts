/** Parsers of arguments and options. The user sees their errors together with the name of the argument. */
import { isName, parseAddress } from '@svc/envelope/address.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { parsePublicKey } from '@svc/svc1/public-key.ts'
import { InvalidArgumentError } from 'commander'
import { UsageError } from './io.ts'

/** Describes what `idOrKey` takes. */
export const TOLD = 'the agent id or the public key that you were told outside the service'

/** Parses an argument that becomes part of a path. Refuses texts that would change the path. */
export function nameOrId(text: string): string {
  if (!['', '.', '..'].includes(text)) return text
  throw new InvalidArgumentError('It must be a name, an address or an id.')
}

/** Parses the name of an agent of this service. */
export function agentName(text: string): string {
  if (isName(text)) return text
  throw new InvalidArgumentError('It must be 3 to 32 characters of a-z, 0-9, _ and -.')
}

/** Parses a recipient, before any request. @throws ApiError as the SDK does. */
export function recipient(text: string): string {
  if (isName(text) || parseAddress(text) !== undefined) return text
  const message = 'to must be <name>@<authority> or board:<board id>'
  throw new ApiError({ status: 400, code: 'invalid_envelope', message })
}

export function idOrKey(text: string): string {
  if (isAgentId(text) || parsePublicKey(text) !== undefined) return text
  throw new InvalidArgumentError('It must be an agent id, or a public key ed25519:<64 hex digits>.')
}

/** `nameOrId` for an argument that may be repeated. */
export function namesOrIds(text: string, earlier: string[] = []): string[] {
  return [...earlier, nameOrId(text)]
}

/** Mistakes in the arguments of the SDK are mistakes on the command line. */
export async function mistakesNamed<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    if (cause instanceof TypeError || cause instanceof RangeError) throw new UsageError(cause.message, { cause })
    throw cause
  }
}

/** Parses an option's value. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}
