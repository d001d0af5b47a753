/**
 * Whether a header was sent more than once. Node keeps the first of those that must not be, and says nothing.
 * @param rawHeaders as Node gives them: names and values in turn. @param name in lower case.
 */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at]
    if (header !== undefined && header.length === name.length && header.toLowerCase() === name) count += 1
  }
  return count > 1
}
