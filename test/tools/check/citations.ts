import type { SourceFile } from './source-file.ts'

/** The valid targets of citations. */
interface Citable {
  /** Numbers of the sections of docs/specification, `6.3`. */
  readonly sections: ReadonlySet<string>
  /** Numbers of its chapters, `6`. */
  readonly chapters: ReadonlySet<string>
  /** Numbers of the decision records in docs/adr. */
  readonly adrs: ReadonlySet<number>
}

const SPECIFICATION = /^docs\/specification\/.+\.md$/
const ADR = /^docs\/adr\/(\d{4})-.+\.md$/
/** Files that others wrote, that contain these words as data, or that record history. */
const EXEMPT = /^(?:pnpm-lock\.yaml|CHANGELOG\.md|test\/vectors\/|test\/check\/citations(?:\.test)?\.ts$)/

/** Documents outside the repository, and issues. Readers cannot open them. */
const OUTSIDE = /[Dd]ecisions? \d|(?:service|design|style)\.md|[Ff]ield notes|\b[Ii]ssue \d/g

const NUMBERS = String.raw`\d+(?:\.\d+)?(?:(?:, | and | to |, and )\d+(?:\.\d+)?)*`
const SPEC = new RegExp(String.raw`\bspec (${NUMBERS})`, 'g')
const ADR_CITED = /\bADR (\d+(?:(?:, | and )\d+)*)/g
/** Inside the specification, a section is cited by its number alone, in parentheses or after an introducing word. */
const INSIDE = /(?:\(|\b(?:see|by|of|in|than|as|that) )(\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*)(?=$|[),.;: ])/g

/** Reads the valid targets from the headings of the specification and the file names of the decision records. */
function citableIn(files: readonly SourceFile[]): Citable {
  const headings = files
    .filter(({ path }) => SPECIFICATION.test(path))
    .flatMap(({ text }) => [...text.matchAll(/^#{1,2} (\d+(?:\.\d+)?) /gm)].map(([, number = '']) => number))
  return {
    sections: new Set(headings.filter((number) => number.includes('.'))),
    chapters: new Set(headings.filter((number) => !number.includes('.'))),
    adrs: new Set(
      files.flatMap(({ path }) => (ADR.exec(path)?.[1] === undefined ? [] : [Number(ADR.exec(path)?.[1])])),
    ),
  }
}

/** @returns one sentence for each citation whose target is not in the repository, with its place. */
export function findBadCitations(files: readonly SourceFile[]): string[] {
  const citable = citableIn(files)
  return files
    .filter(({ path }) => !EXEMPT.test(path))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, at) =>
          problemsIn(line, SPECIFICATION.test(path), citable).map((problem) => `${path}:${at + 1}: ${problem}`),
        ),
    )
}

function problemsIn(line: string, isSpecification: boolean, citable: Citable): string[] {
  const outside = [...line.matchAll(OUTSIDE)].map(([cited]) => `cites "${cited}", which is not in the repository`)
  const specs = [...line.matchAll(SPEC), ...(isSpecification ? withoutRfcs(line).matchAll(INSIDE) : [])]
  const missing = specs
    .flatMap(([, numbers = '']) => numbers.match(/\d+(?:\.\d+)?/g) ?? [])
    .filter((number) => !citable.sections.has(number) && !citable.chapters.has(number))
    .map((number) => `cites spec ${number}, but docs/specification has no such section`)
  const adrs = [...line.matchAll(ADR_CITED)]
    .flatMap(([, numbers = '']) => numbers.match(/\d+/g) ?? [])
    .filter((number) => !citable.adrs.has(Number(number)))
    .map((number) => `cites ADR ${number}, but docs/adr has no such record`)
  return [...outside, ...missing, ...adrs]
}

/** Section numbers of other documents look alike. */
function withoutRfcs(line: string): string {
  return line.replaceAll(/\(?RFC \d+(?:,? (?:section )?[\d.]+)?/g, '')
}
