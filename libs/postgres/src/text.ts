/**
 * The text up to its first NUL, which Postgres takes in no text. For a place in the order of keys that have none: the
 * same keys come after the text and after this part of it.
 */
export function beforeNul(text: string): string {
  return text.split('\0', 1)[0] ?? ''
}
