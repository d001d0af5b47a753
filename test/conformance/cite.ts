/** The citations in a test's name. */
import type { Row } from './rows.ts'

export interface NamedTest {
  /** Path from the root of the repository. */
  readonly file: string
  /** `describe > test`, including the values of tables. */
  readonly name: string
}

/**
 * The sections that a name cites. In each part of a name, only citations before the first colon count, so a section that is
 * merely mentioned does not. `spec 6.5, 11.2: …` cites two, and so does `spec 6.5; ADR 21; spec 11.2: …`.
 */
export function sectionsCitedBy(name: string): Set<string> {
  return new Set(name.split(' > ').flatMap((part) => citationsIn(part.split(':')[0] ?? '')))
}

/** Whether a test belongs to this row. */
export function isOf({ section, says }: Row, { name }: NamedTest): boolean {
  return sectionsCitedBy(name).has(section) && (says === undefined || says.test(ruleOf(name)))
}

/** The name without its citations. */
function ruleOf(name: string): string {
  const parts = name.split(' > ').map((part) => {
    const [front = '', ...rest] = part.split(':')
    return citationsIn(front).length > 0 ? rest.join(':') : part
  })
  return parts.join(' > ')
}

const CITATION = /^spec (\d+\.\d+(?:(?:, | and )\d+\.\d+)*)$/

function citationsIn(front: string): string[] {
  return front.split('; ').flatMap((part) => CITATION.exec(part.trim())?.[1]?.split(/, | and /) ?? [])
}
