/**
 * Whether a header was sent more than once. If a header must not be repeated, Node silently keeps only its first value.
 * @param rawHeaders names and values alternately, as Node returns them. @param name in lower case.
 */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at]
    if (header !== undefined && header.length === name.length && header.toLowerCase() === name) count += 1
  }
  return count > 1
}
