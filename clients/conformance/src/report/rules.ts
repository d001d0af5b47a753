/** The text of the specification that belongs to a section. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

interface Section {
  readonly number: string
  readonly title: string
  readonly chapter: string
  readonly text: string
}

/**
 * A folder of data. In the package it stands beside `dist`, in a clone beside `src` or under docs.
 * @returns its path with a slash at the end.
 */
export function findFolder(name: 'cases' | 'client-cases' | 'specification' | 'vectors'): string {
  const paths = [`../../../${name}/`, `../../${name}/`, `../../../../docs/${name}/`]
  const found = paths.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path))
  if (found === undefined) throw new Error(`the folder ${name} is missing from the package`)
  return found
}

export function readSections(): Map<string, Section> {
  const folder = findFolder('specification')
  const files = readdirSync(folder)
    .filter((name) => /^\d/.test(name))
    .sort()
  return new Map(
    files.flatMap((name) => sectionsOf(readFileSync(folder + name, 'utf8'))).map((one) => [one.number, one]),
  )
}

function sectionsOf(page: string): Section[] {
  const chapter = /^# (.+)$/m.exec(page)?.[1] ?? ''
  return page.split(/^## /m).flatMap((part) => {
    const [heading, number, title = ''] = /^(\d+\.\d+) (.+)/.exec(part) ?? []
    return heading === undefined || number === undefined
      ? []
      : [{ number, title, chapter, text: part.slice(heading.length).trim() }]
  })
}
