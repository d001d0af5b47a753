import { expect, test } from 'vitest'
import { findBadCitations } from './citations.ts'

const SPECIFICATION = {
  path: 'docs/specification/06-envelopes.md',
  text: '# 6 Envelopes\n\n## 6.3 Signed envelopes\n\n## 6.4 Sealed envelopes\n',
}
const RECORD = { path: 'docs/adr/0006-charge.md', text: '# 6. Charge\n' }

function problemsOf(text: string, path = 'libs/a/src/a.ts'): string[] {
  return findBadCitations([SPECIFICATION, RECORD, { path, text }])
}

test.each([
  'signed over JCS (spec 6.3)',
  'both forms (spec 6.3, 6.4)',
  'both forms (spec 6.3 and 6.4), as spec 6 says',
  'see ADR 6 and spec 6.4',
  'RFC 8785, nodejs/node#63785',
])('a citation that resolves is fine: %s', (text) => {
  expect(problemsOf(text)).toEqual([])
})

test.each([
  ['spec 6.5', 'libs/a/src/a.ts:2: cites spec 6.5, but docs/specification has no such section'],
  ['spec 6.3, 7.1', 'libs/a/src/a.ts:2: cites spec 7.1, but docs/specification has no such section'],
  ['ADR 6 and 7', 'libs/a/src/a.ts:2: cites ADR 7, but docs/adr has no such record'],
  ...[
    ['decisions', ' 8'],
    ['service', '.md'],
    ['style', '.md'],
    ['Issue', ' 5'],
  ].map((parts) => [parts.join(''), `libs/a/src/a.ts:2: cites "${parts.join('')}", which is not in the repository`]),
])('a citation that does not resolve is found with its place: %s', (text, problem) => {
  expect(problemsOf(`first line\n// ${text}\n`)).toEqual([problem])
})

test('the specification names its own sections by number', () => {
  const path = 'docs/specification/03-requests.md'
  expect(problemsOf('# 3 Requests\n\n## 3.1 Signed\n\nas 6.3 says (6.4), by RFC 8032, 5.1.7', path)).toEqual([])
  expect(problemsOf('see 9.9', path)).toEqual([`${path}:1: cites spec 9.9, but docs/specification has no such section`])
})
