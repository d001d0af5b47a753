/**
 * A result as `name: value` lines, for clients that show text instead of the structure. A value with several lines is fenced
 * text. It is printed without indentation, so that the nonce stays at the beginning of each line.
 */
export function render(value: object): string {
  return linesOf(value, '').join('\n')
}

function linesOf(value: object, indent: string): string[] {
  return Object.entries(value).flatMap(([name, member]) => memberLines(name, member, indent))
}

function memberLines(name: string, member: unknown, indent: string): string[] {
  if (member === null || member === undefined) return []
  if (typeof member === 'string' && member.includes('\n')) return [`${indent}${name}:`, ...member.split('\n')]
  if (typeof member !== 'object') return [`${indent}${name}: ${String(member)}`]
  if (!Array.isArray(member)) return [`${indent}${name}:`, ...linesOf(member, `${indent}  `)]
  if (member.length === 0) return [`${indent}${name}: none`]
  return [
    `${indent}${name}: ${member.length}`,
    ...member.flatMap((item, at) =>
      typeof item === 'object' && item !== null
        ? [`${indent}- ${at + 1}`, ...linesOf(item, `${indent}  `)]
        : [`${indent}- ${String(item)}`],
    ),
  ]
}
