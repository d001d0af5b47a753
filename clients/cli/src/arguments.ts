/** Parsers of arguments and options. The user sees their errors together with the name of the argument. */
import { isName, parseAddress } from '@svc/envelope/address.ts'
import { InvalidArgumentError } from 'commander'

/** Parses an argument that becomes part of a path. Refuses texts that would change the path. */
export function nameOrId(text: string): string {
  if (!['', '.', '..'].includes(text)) return text
  throw new InvalidArgumentError('It must be a name, an address or an id.')
}

/** Parses a recipient. The error is the same for signed and sealed messages, and comes before any request. */
export function recipient(text: string): string {
  if (isName(text) || parseAddress(text) !== undefined) return text
  throw new InvalidArgumentError('It must be a name, name@authority or board:<id>.')
}

/** `nameOrId` for an argument that may be repeated. */
export function namesOrIds(text: string, earlier: string[] = []): string[] {
  return [...earlier, nameOrId(text)]
}

/** Parses an option's value. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}
