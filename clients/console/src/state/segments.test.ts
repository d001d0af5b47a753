import { expect, test } from 'vitest'
import { type Segment, segmentsOf, titleSegmentsOf } from './segments.ts'

/** `[U+202E]` for a control, `<url>` for a link, the text itself otherwise. */
function shown(segments: readonly Segment[]): string {
  return segments
    .map((one) => (one.kind === 'text' ? one.text : one.kind === 'link' ? `<${one.url}|${one.text}>` : `[${one.code}]`))
    .join('')
}

test.each([
  ['plain', 'hello\n\tworld', 'hello\n\tworld'],
  ['an override of direction', 'abc\u202Egnp.exe', 'abc[U+202E]gnp.exe'],
  ['isolates and marks', '\u2066a\u2069\u200F\u061C', '[U+2066]a[U+2069][U+200F][U+061C]'],
  ['controls', 'a\u0000b\u001B[31m\r\n', 'a[U+0000]b[U+001B][31m[U+000D]\n'],
  ['zero width', 'pay\u200Bpal\uFEFF', 'pay[U+200B]pal[U+FEFF]'],
  ['tags', 'x\u{E0041}', 'x[U+E0041]'],
  ['half a character', 'x\ud800y\udc00', 'x[U+D800]y[U+DC00]'],
  ['an emoji of several characters', '👩‍👩‍👧', '👩‍👩‍👧'],
  ['joiners', 'می‌خواهم', 'می‌خواهم'],
  ['markup', '<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ['a link', 'see https://example.com/a?b=1.', 'see <https://example.com/a?b=1|https://example.com/a?b=1>.'],
  [
    'two links',
    'http://a.example https://b.example',
    '<http://a.example/|http://a.example> <https://b.example/|https://b.example>',
  ],
  ['a link cut by a control', 'https://a.example/\u202Ex', '<https://a.example/|https://a.example/>[U+202E]x'],
  ['a host that looks like another', 'https://аpple.com', '<https://xn--pple-43d.com/|https://аpple.com>'],
  ['another scheme', 'javascript:alert(1) file:///etc/passwd', 'javascript:alert(1) file:///etc/passwd'],
  ['no host', 'https://', 'https://'],
])('%s', (_, text, expected) => {
  expect(shown(segmentsOf(text))).toBe(expected)
})

test('titles have no links', () => {
  expect(shown(titleSegmentsOf('https://a.example \u202Ex'))).toBe('https://a.example [U+202E]x')
})
