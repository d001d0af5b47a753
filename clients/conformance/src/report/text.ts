/** The report for a person. */
import type { CaseResult, Exchange } from '../result.ts'
import { curlOf } from './curl.ts'
import { readSections } from './rules.ts'

const MAX_BODY = 2_000
/** The last requests of a case are those that its failure is about. */
const MAX_SHOWN = 8

/** One line for a case as it ends; failures have their title and reason below. */
export function lineOf({ id, title, status, reason, spec, milliseconds }: CaseResult): string {
  if (status === 'skipped') return `skipped  ${id}: ${reason}`
  if (status === 'passed') return `passed   ${id} (${milliseconds} ms)`
  return `FAILED   ${id} (spec ${spec.join(', ')})\n         ${title}\n         ${reason?.replaceAll('\n', '\n         ')}`
}

/** 0 if no case failed, 1 if one did, 2 if none could be run. */
export function exitCodeOf(results: readonly CaseResult[]): number {
  if (results.every(({ status }) => status === 'skipped')) return 2
  return results.some(({ status }) => status === 'failed') ? 1 : 0
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
    ...(failures.length === 0
      ? []
      : ['', 'Failures. --explain <case> with the whole id shows the rule, the requests and the answers.']),
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

/** What was expected, the rule, and the last requests as curl with what came. */
export function explain({ id, title, spec, status, reason = '', exchanges }: CaseResult): string {
  const sections = readSections()
  const rules = spec.map((number) => {
    const { title: heading = '', text = '' } = sections.get(number) ?? {}
    return `--- spec ${number} ${heading}\n\n${text}\n`
  })
  // Challenges and registrations are how agents come to be, and seldom what a case is about.
  const others = exchanges.filter(({ request }) => !isRegistration(request.url))
  const shown = (others.length === 0 ? exchanges : others).slice(-MAX_SHOWN)
  const left = exchanges.length - shown.length
  return [
    `${status === 'failed' ? 'FAILED' : status}: ${title}\n${reason}\n`,
    ...rules,
    ...(left > 0
      ? [`--- ${left} earlier requests are left out; --json with --explain has them if the case failed\n`]
      : []),
    ...shown.map((one, at) => `--- request ${left + at + 1} of ${exchanges.length}\n\n${exchangeText(one)}\n`),
    `--- ${id}: ${status}${status === 'passed' ? '' : `\n${reason}`}`,
  ].join('\n')
}

function isRegistration(url: string): boolean {
  return url.endsWith('/v2/challenges') || url.endsWith('/v2/agents/register')
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
