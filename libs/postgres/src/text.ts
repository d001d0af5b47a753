/**
 * The text up to its first NUL, because Postgres accepts no NUL in a text. Use it for a position in a list of keys without NUL:
 * the same keys sort after the whole text and after this part of it.
 */
export function beforeNul(text: string): string {
  return text.split('\0', 1)[0] ?? ''
}
