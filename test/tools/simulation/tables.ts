/** The tables of docs/operating/scale.md. */

import { assumed, meeting, plans, splits, storage, streams, streamUnit, units } from './plan-tables.ts'

/** All tables, by the name of their place in the page. */
export function renderTables(): Record<string, string> {
  return {
    units: units(),
    storage: storage(),
    assumed: assumed(),
    splits: splits(),
    meeting: meeting(),
    plans: plans(),
    'stream-unit': streamUnit(),
    streams: streams(),
  }
}

/**
 * The page with every table replaced between its marks.
 * @throws Error if a table has no place.
 */
export function fillPage(page: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const place = new RegExp(`(<!-- table: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`)
    if (!place.test(text)) throw new Error(`the page has no place for the table ${name}`)
    return text.replace(place, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`)
  }, page)
}
