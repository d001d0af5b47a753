/** Reports for programs: JSON, and JUnit's XML for CI systems. */
import type { CaseResult } from '../result.ts'
import { curlOf } from './curl.ts'
import { scoreOf } from './text.ts'

/** One JSON document. `exchanges` are only those of failures. */
export function jsonOf(results: readonly CaseResult[]): string {
  const cases = results.map(({ exchanges, ...one }) => ({
    ...one,
    ...(one.status === 'failed'
      ? { exchanges: exchanges.map((each) => ({ ...each, curl: curlOf(each.request) })) }
      : {}),
  }))
  return JSON.stringify({ chapters: scoreOf(results), cases }, undefined, 2)
}

export function junitOf(results: readonly CaseResult[]): string {
  const groups = Map.groupBy(results, ({ id }) => id.split('/')[0] ?? '')
  const suites = [...groups].map(([group, some]) => {
    const cases = some.map(
      ({ id, title, status, reason = '', milliseconds }) =>
        `    <testcase classname="${xml(id)}" name="${xml(title)}" time="${milliseconds / 1_000}">${
          status === 'failed'
            ? `<failure message="${xml(reason)}"/>`
            : status === 'skipped'
              ? `<skipped message="${xml(reason)}"/>`
              : ''
        }</testcase>`,
    )
    const count = (wanted: CaseResult['status']): number => some.filter(({ status }) => status === wanted).length
    const head = `name="${xml(group)}" tests="${some.length}" failures="${count('failed')}" skipped="${count('skipped')}"`
    return [`  <testsuite ${head}>`, ...cases, '  </testsuite>'].join('\n')
  })
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...suites, '</testsuites>', ''].join('\n')
}

/** XML allows no control characters, not even escaped. */
function xml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
}
