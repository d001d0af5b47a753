import { createHash } from 'node:crypto'

/**
 * A fingerprint that is equal for equal JSON values, whatever the order of their members. Identifies an envelope. Uses none
 * of the product's JCS code.
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
