import type { JsonSchemaType } from '@modelcontextprotocol/server'
import { quoted } from '../output/fence.ts'
import { Board, Id, Name, NameOrId } from '../schemas.ts'

/** What a text of this pattern is. The filters of events have the same patterns, and descriptions that say what they leave out. */
const MEANINGS = new Map([Id, Board, Name, NameOrId].map(({ pattern, description }) => [pattern, description]))

/**
 * A sentence about the first argument that is unknown, or outside its list of words or its pattern. The validator names neither the
 * unknown argument nor the words, and shows the pattern.
 */
export function argumentFault(schema: JsonSchemaType, args: unknown): string | undefined {
  return isObject(args) ? (unknownArgument(schema, args) ?? memberFault(schema, args)) : undefined
}

function unknownArgument({ properties = {} }: JsonSchemaType, args: object): string | undefined {
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name))
  if (unknown === undefined) return undefined
  const known = Object.keys(properties)
  const others = known.length === 0 ? 'this tool has no arguments' : `the arguments are ${known.join(', ')}`
  return `there is no argument ${quoted(unknown, 80)}: ${others}`
}

function memberFault({ properties = {} }: JsonSchemaType, args: object): string | undefined {
  for (const [name, value] of Object.entries(args)) {
    if (!Object.hasOwn(properties, name)) continue
    const wanted = missedBy(properties[name] as JsonSchemaType, value)
    if (wanted !== undefined) return `${name} must be ${wanted}`
  }
  return undefined
}

/** What the value should be. Undefined if it is in the list of words and fits the pattern, or if there are none. */
function missedBy(schema: JsonSchemaType, value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const wanted = value.map((item) => missedBy((schema.items ?? {}) as JsonSchemaType, item))
    return wanted.find((one) => one !== undefined)
  }
  const { enum: words, pattern, description } = schema
  if (Array.isArray(words)) return words.includes(value as never) ? undefined : alternatives(words.map(String))
  if (typeof pattern !== 'string' || typeof value !== 'string' || new RegExp(pattern, 'u').test(value)) return undefined
  const meaning = MEANINGS.get(pattern) ?? description
  return meaning === undefined ? 'a text of another form' : `this: ${firstSentence(meaning)}`
}

/** `a, b or c`. */
function alternatives(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), words.at(-1)].filter((part) => part !== '').join(' or ')
}

function firstSentence(text: string): string {
  return text.split('. ')[0] ?? text
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
