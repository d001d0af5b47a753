/**
 * Names that nobody may register (spec 5.6), because they would pass for the operator. They are the mailboxes of RFC 2142
 * that stand for the operator, and the words that services use for their staff.
 */
export const DEFAULT_RESERVED_NAMES: readonly string[] = [
  'abuse',
  'admin',
  'administrator',
  'help',
  'helpdesk',
  'hostmaster',
  'moderator',
  'noc',
  'official',
  'operator',
  'postmaster',
  'root',
  'security',
  'service',
  'staff',
  'support',
  'svc',
  'sysadmin',
  'system',
  'webmaster',
]

/**
 * @param names the reserved names.
 * @returns whether a valid name is reserved, or looks like a reserved name: `0` counts as `o`, `1` and `i` count as `l`,
 * and `_` and `-` do not count. A longer name that only contains a reserved name is free.
 */
export function reservedNames(names: readonly string[]): (name: string) => boolean {
  const shapes = new Set(names.map(shapeOf))
  return (name) => shapes.has(shapeOf(name))
}

function shapeOf(name: string): string {
  return name.replaceAll(/[_-]/g, '').replaceAll('0', 'o').replaceAll(/[1i]/g, 'l')
}
