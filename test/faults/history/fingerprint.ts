import { createHash } from 'node:crypto'

/**
 * The same for the same JSON value, whatever the order of members: an envelope is told by it. Nothing of the product's
 * JCS is in it.
 */
export function fingerprint(value: unknown): string {
  return createHash('sha256').update(sorted(value)).digest('hex').slice(0, 20)
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`).join()}}`
}
