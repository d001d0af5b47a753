/** What the name of a test says about where its rule comes from. */
import type { Row } from './rows.ts'

export interface NamedTest {
  /** From the root of the repository. */
  readonly file: string
  /** `describe > test`, with the values of tables in it. */
  readonly name: string
}

/**
 * The sources that a name cites: in each of its parts what stands before the first colon, so that a rule that is only
 * mentioned does not count. `decisions 17, 24` and `service.md, Endpoint rules 2, 4; decisions 21` cite each of theirs.
 */
export function sourcesOf(name: string): Set<string> {
  return new Set(name.split(' > ').flatMap((part) => citationsIn(part.split(':')[0] ?? '')))
}

/** Whether a test is one of this row's. */
export function isOf({ source, says }: Row, { name }: NamedTest): boolean {
  return sourcesOf(name).has(source) && (says === undefined || says.test(ruleOf(name)))
}

/** What a name says besides its sources. */
function ruleOf(name: string): string {
  const parts = name.split(' > ').map((part) => {
    const [front = '', ...rest] = part.split(':')
    return citationsIn(front).length > 0 ? rest.join(':') : part
  })
  return parts.join(' > ')
}

function citationsIn(front: string): string[] {
  // `service.md Limits, decisions 20` cites two, and so does `decisions 45; design.md, Failing`.
  const parts = front.split(/; *|, *(?=decisions? |service\.md|design|field notes)/)
  return parts.flatMap((part) => {
    const [, book, rest = ''] = /^(decisions?|service\.md),? +(.+)$/.exec(part.trim()) ?? []
    if (book === undefined) return []
    if (book !== 'service.md') return numbersIn(rest).map((number) => `decisions ${number}`)
    const [, section = rest, numbers] = /^(Endpoint rules) ([\d, –]+)$/.exec(rest) ?? []
    if (numbers === undefined) return [`service.md, ${section}`]
    return numbersIn(numbers).map((number) => `service.md, ${section} ${number}`)
  })
}

/** `21, 35` and `15–17`. Nothing where anything else follows. */
function numbersIn(text: string): number[] {
  if (!/^\d+(?:(?:, ?|–|-| and )\d+)*$/.test(text)) return []
  return [...text.matchAll(/(\d+)(?:[–-](\d+))?/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at),
  )
}
