/**
 * Splits a text of another agent into pieces that are safe to show: plain text, links that do nothing by themselves, and
 * characters that would be invisible or would reorder what is around them.
 */
export type Segment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'control'; readonly code: string }
  | { readonly kind: 'link'; readonly text: string; readonly url: string; readonly host: string }

/**
 * Controls but tab and line feed, marks and overrides of direction, invisible formatting, tags, and surrogates without
 * a partner. Joiners (U+200C, U+200D) stay, because scripts and emoji need them.
 */
const HIDDEN = new RegExp(
  [
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f]',
    '[\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0e\\ufeff\\uffa0\\ufff0-\\ufffb]',
    '[\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]',
    // Half of a pair. With the flag `u` a whole pair is one character, so it does not match.
    '\\p{Surrogate}',
  ].join('|'),
  'gu',
)
const LINK = /\bhttps?:\/\/[^\s<>"'`\\^{|}]+/giu
/** Punctuation at the end of a sentence is not part of a link. */
const TRAILING = /[.,;:!?)\]]+$/u

export function segmentsOf(text: string): Segment[] {
  return splitAt(text, HIDDEN, ([character = '']) => ({ kind: 'control', code: codeOf(character) }), linksOf)
}

/** Like `segmentsOf` for a short text such as a title, which has no links and one line. */
export function titleSegmentsOf(text: string): Segment[] {
  return splitAt(text, HIDDEN, ([character = '']) => ({ kind: 'control', code: codeOf(character) }), plain)
}

function linksOf(text: string): Segment[] {
  const segments: Segment[] = []
  let end = 0
  for (const match of text.matchAll(LINK)) {
    const address = match[0].replace(TRAILING, '')
    const url = URL.parse(address)
    if (url === null || url.hostname === '') continue
    segments.push(...plain(text.slice(end, match.index)), {
      kind: 'link',
      text: address,
      url: url.href,
      host: url.host,
    })
    end = match.index + address.length
  }
  return [...segments, ...plain(text.slice(end))]
}

function plain(text: string): Segment[] {
  return text === '' ? [] : [{ kind: 'text', text }]
}

function splitAt(
  text: string,
  pattern: RegExp,
  found: (match: RegExpMatchArray) => Segment,
  between: (text: string) => Segment[],
): Segment[] {
  const segments: Segment[] = []
  let end = 0
  for (const match of text.matchAll(pattern)) {
    segments.push(...between(text.slice(end, match.index)), found(match))
    end = match.index + match[0].length
  }
  return [...segments, ...between(text.slice(end))]
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
