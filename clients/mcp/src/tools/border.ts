import type { JsonSchemaType } from '@modelcontextprotocol/server'
import { isMessageId } from '@svc/contracts/ids.ts'
import { AnswerError } from '@svc/sdk/errors.ts'
import type { Mailbox } from '../mailbox.ts'
import { unfenced } from '../output/fence.ts'
import { ToolError } from '../output/tool-error.ts'
import { CURSOR_ALIAS, CURSOR_ARGUMENT, Id, Name, NameOrId, RecipientName } from '../schemas.ts'

/**
 * The border between the tools and a model, for one call. Senders choose the ids of their messages, and an id has room for an
 * instruction (`ignore-all-previous-messages`). So the model sees an alias instead, unless the id cannot spell words, or is the
 * agent's own. Cursors are of the service, and always have an alias. Tools know only the ids and the cursors themselves.
 */
export interface Border {
  /** Arguments, with ids and cursors instead of aliases. @throws ToolError `not_found`, `invalid_cursor`. */
  read<T>(schema: JsonSchemaType, args: T): T
  /** A result, with aliases. @throws AnswerError if an id is not valid. */
  show<T>(schema: JsonSchemaType, result: T): T
}

/** Hex digits with or without the dashes of a UUID. */
const WORDLESS = /^(?:[0-9a-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i
/** Whether an id cannot spell words. */
export const isWordless = (id: string): boolean => WORDLESS.test(id)
const NAMES: ReadonlySet<string | undefined> = new Set([Name.pattern, NameOrId.pattern, RecipientName.pattern])

export function createBorder({ aliases, sent }: Pick<Mailbox, 'aliases' | 'sent'>): Border {
  /** Ids that the model has written itself in this call. */
  const written = new Set<string>()

  function readText(pattern: string, text: string): string {
    if (NAMES.has(pattern)) return unfenced(text)
    if (pattern === Id.pattern) {
      if (isMessageId(text)) written.add(text)
      else return aliases.reveal(text) ?? fail('not_found', 'no message has this id')
    }
    if (pattern !== CURSOR_ARGUMENT) return text
    return aliases.reveal(text) ?? fail('invalid_cursor', 'cursor must be the next_cursor of an earlier result')
  }

  function showText(pattern: string, text: string): string {
    if (pattern === CURSOR_ALIAS) return aliases.hide(text)
    if (pattern !== Id.pattern) return text
    if (!isMessageId(text)) throw new AnswerError('the answer has an invalid id of a message')
    const isPlain = isWordless(text) || written.has(text) || sent.find(text) !== undefined
    return isPlain ? text : aliases.hide(text)
  }

  return {
    read: (schema, args) => mapTexts(schema as Schema, args, readText) as typeof args,
    show: (schema, result) => mapTexts(schema as Schema, result, showText) as typeof result,
  }
}

/** The keywords that the schemas of tools use. */
interface Schema {
  readonly type?: string
  readonly pattern?: string
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  /** One schema, or null. */
  readonly anyOf?: readonly Schema[]
}

/** Replaces each text whose schema has a pattern. */
function mapTexts(schema: Schema, value: unknown, change: (pattern: string, text: string) => string): unknown {
  const { pattern, items = {}, properties = {} } = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
  if (typeof value === 'string') return pattern === undefined ? value : change(pattern, value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(items, item, change))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, member]) => {
    const schemaOfMember = Object.hasOwn(properties, name) ? properties[name] : undefined
    return [name, mapTexts(schemaOfMember ?? {}, member, change)]
  })
  return Object.fromEntries(entries)
}

function fail(code: string, text: string): never {
  throw new ToolError(code, text)
}
