import type { Fragment } from 'postgres'
import type { Sql } from './database.ts'

/** JSON text contains it only as an escape (RFC 8259, section 7), and contracts accept no id with it. */
const SEPARATOR = '\u001e'

/**
 * Sends texts as one `text[]`, for statements with large parameters. They travel as one text, which the server splits. An array
 * parameter would be slower, because the client escapes every quote and backslash and the server parses them. For 64 envelopes
 * that costs 0.4 ms of the 3.5 ms that it takes to append them.
 * @throws RangeError if an item is empty or contains U+001E. Then the statement is not sent.
 */
export function textList(sql: Sql, items: readonly string[]): Fragment {
  for (const item of items) {
    if (item === '' || item.includes(SEPARATOR))
      throw new RangeError('an item of a text list is empty or contains U+001E')
  }
  return sql`string_to_array(${items.join(SEPARATOR)}::text, chr(30))`
}
