import { isFenced } from './fence.ts'

/**
 * A result as `name: value` lines, for clients that show text instead of the structure. Fenced text is printed without
 * indentation, so that the nonce stays at the beginning of each line.
 */
export function render(value: object): string {
  return linesOf(value, '').join('\n')
}

function linesOf(value: object, indent: string): string[] {
  return Object.entries(value).flatMap(([name, member]) => memberLines(name, member, indent))
}

function memberLines(name: string, member: unknown, indent: string): string[] {
  if (member === null || member === undefined) return []
  if (isForeign(member)) return [`${indent}${name}:`, ...member.split('\n')]
  if (typeof member !== 'object') return [`${indent}${name}: ${String(member)}`]
  if (!Array.isArray(member)) return [`${indent}${name}:`, ...linesOf(member, `${indent}  `)]
  if (member.length === 0) return [`${indent}${name}: none`]
  return [
    `${indent}${name}: ${member.length}`,
    ...member.flatMap((item, at) => {
      if (isForeign(item)) return item.split('\n')
      return typeof item === 'object' && item !== null
        ? [`${indent}- ${at + 1}`, ...linesOf(item, `${indent}  `)]
        : [`${indent}- ${String(item)}`]
    }),
  ]
}

function isForeign(value: unknown): value is string {
  return typeof value === 'string' && (value.includes('\n') || isFenced(value))
}
