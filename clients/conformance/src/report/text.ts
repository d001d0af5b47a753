/** The report for a person. */
import type { CaseResult, Exchange } from '../result.ts'
import { curlOf } from './curl.ts'
import { readSections } from './rules.ts'

const MAX_BODY = 2_000

/** One line for a case as it ends; failures have their reason below. */
export function lineOf({ id, status, reason, spec, milliseconds }: CaseResult): string {
  if (status === 'skipped') return `skipped  ${id}: ${reason}`
  if (status === 'passed') return `passed   ${id} (${milliseconds} ms)`
  return `FAILED   ${id} (spec ${spec.join(', ')})\n         ${reason?.replaceAll('\n', '\n         ')}`
}

/** Cases by chapter, then the failures again, then the sum. */
export function summaryOf(results: readonly CaseResult[]): string {
  const failures = results.filter(({ status }) => status === 'failed')
  const skipped = Map.groupBy(
    results.filter(({ status }) => status === 'skipped'),
    ({ reason = '' }) => reason,
  )
  return [
    '',
    ...scoreOf(results).map(
      ({ chapter, passed, failed, skipped: left }) =>
        `${chapter.padEnd(26)} ${`${passed} passed`.padStart(11)} ${`${failed} failed`.padStart(10)} ${`${left} skipped`.padStart(12)}`,
    ),
    ...[...skipped].map(([reason, some]) => `\n${some.length} skipped: ${reason}`),
    ...(failures.length === 0 ? [] : ['', 'Failures. --explain <case> shows the rule, the requests and the answers.']),
    ...failures.map(lineOf),
    '',
    `${countOf(results, 'passed')} passed, ${failures.length} failed, ${countOf(results, 'skipped')} skipped`,
  ].join('\n')
}

interface ChapterScore {
  readonly chapter: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** A case counts in the chapter of the first section that it names. */
export function scoreOf(results: readonly CaseResult[]): ChapterScore[] {
  const sections = readSections()
  const chapterOf = ({ spec: [first = ''] }: CaseResult): string =>
    sections.get(first)?.chapter ?? `Chapter ${first.split('.')[0]}`
  const chapters = [...Map.groupBy(results, chapterOf)].sort(
    ([a], [b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10),
  )
  return chapters.map(([chapter, some]) => ({
    chapter,
    passed: countOf(some, 'passed'),
    failed: countOf(some, 'failed'),
    skipped: countOf(some, 'skipped'),
  }))
}

/** The rule, each request as curl, what came, and what was expected. */
export function explain(result: CaseResult): string {
  const sections = readSections()
  const rules = result.spec.map((number) => {
    const { title = '', text = '' } = sections.get(number) ?? {}
    return `--- spec ${number} ${title}\n\n${text}\n`
  })
  return [
    `${result.id}: ${result.title}\n`,
    ...rules,
    ...result.exchanges.map(
      (one, at) => `--- request ${at + 1} of ${result.exchanges.length}\n\n${exchangeText(one)}\n`,
    ),
    result.status === 'failed'
      ? `--- FAILED\n\n${result.reason}`
      : `--- ${result.status}${result.reason === undefined ? '' : `: ${result.reason}`}`,
  ].join('\n')
}

function exchangeText({ request, answer }: Exchange): string {
  const signed = request.signedString?.split('\n').map((line) => `#   ${line}`) ?? []
  return [
    ...(signed.length === 0 ? [] : [`# signed by ${request.signer}, these seven lines (spec 3.3):`, ...signed]),
    curlOf(request),
    '',
    `HTTP ${answer.status}`,
    ...Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`),
    '',
    answer.body.length > MAX_BODY
      ? `${answer.body.slice(0, MAX_BODY)}… (${answer.body.length} characters)`
      : answer.body,
  ].join('\n')
}

function countOf(results: readonly CaseResult[], wanted: CaseResult['status']): number {
  return results.filter(({ status }) => status === wanted).length
}
