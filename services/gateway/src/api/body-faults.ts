/** Says which member of a body is wrong, and what is accepted there (spec 4.1: for people, and free to change). */
import type { TObject, TSchema } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'

const NAME_MAX = 40

/** @param fault the first one; undefined if the body is wrong as a whole. */
export function faultText(fault: ValueError | undefined, { properties }: TObject): string {
  const path = fault?.path ?? ''
  const members = listOf(Object.keys(properties), 'and')
  if (fault === undefined || path === '') return `the body must be an object; allowed members are ${members}`
  const name = nameOf(path)
  switch (fault.type) {
    case ValueErrorType.ObjectAdditionalProperties:
      return `the body must not have the member ${JSON.stringify(name)}; allowed are ${members}`
    case ValueErrorType.ObjectRequiredProperty:
      return `${name} is missing: it must be ${acceptedBy(fault.schema)}`
    default:
      return `${name} must be ${acceptedBy(fault.schema)}`
  }
}

/** A JSON pointer as the name of a member. Only an undeclared name is chosen by the client. */
function nameOf(path: string): string {
  const name = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')
  return name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name
}

function acceptedBy({ anyOf, type, minLength, maxLength }: TSchema): string {
  if (Array.isArray(anyOf))
    return listOf(
      anyOf.map((one: TSchema) => String(one.const)),
      'or',
    )
  if (type === 'boolean') return 'true or false'
  if (type !== 'string') return `of type ${String(type)}`
  if (maxLength === undefined) return 'text'
  return minLength === undefined
    ? `text of at most ${maxLength} characters`
    : `text of ${minLength} to ${maxLength} characters`
}

function listOf(names: readonly string[], word: 'and' | 'or'): string {
  const last = names.at(-1) ?? ''
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} ${word} ${last}`
}
