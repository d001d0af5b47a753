import type { Discrepancy } from '@svc/contracts/admin.ts'
import { table } from '../output/output.ts'

/** A discrepancy in one line. */
export function wrongLine(section: string, { rule, id, day, expected, found }: Discrepancy): string {
  const when = day === null ? '' : `, ${day}`
  return `WRONG in ${section}: ${rule} of ${id}${when}: ${said(found)} instead of ${said(expected)}`
}

/** A line for each section. */
export function sectionLines(
  sections: readonly { readonly name: string; readonly checked: number; readonly wrong: number }[],
): string[] {
  return table(
    sections.map(({ name, checked, wrong }) => [name, `${checked} checked`, wrong === 0 ? 'right' : `${wrong} WRONG`]),
  )
}

function said(value: string | number | null): string {
  return value === null ? 'nothing' : String(value)
}
