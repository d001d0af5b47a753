/** The sections of docs/specification, as its headings name them. */
import { readdirSync, readFileSync } from 'node:fs'

interface Section {
  /** `6.3`. */
  readonly number: string
  readonly title: string
  /** The heading of its chapter. */
  readonly chapter: string
  /** Path from the root of the repository. */
  readonly file: string
  /** False for a section that only explains, and says so. */
  readonly holdsRules: boolean
}

const SPECIFICATION = 'docs/specification'
const ROOT = new URL('../../', import.meta.url)
const NO_RULE = '_This section holds no rule._'

export function readSections(): Section[] {
  const files = readdirSync(new URL(SPECIFICATION, ROOT)).filter((name) => /^\d/.test(name))
  return files
    .sort()
    .map((name) => `${SPECIFICATION}/${name}`)
    .flatMap((file) => sectionsOf(file, readFileSync(new URL(file, ROOT), 'utf8')))
}

export function sectionsOf(file: string, text: string): Section[] {
  const chapter = /^# (.+)$/m.exec(text)?.[1] ?? ''
  return text.split(/^## /m).flatMap((part) => {
    const [, number, title = ''] = /^(\d+\.\d+) (.+)/.exec(part) ?? []
    return number === undefined ? [] : [{ number, title, chapter, file, holdsRules: !part.includes(NO_RULE) }]
  })
}
