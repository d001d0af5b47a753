/**
 * What others wrote is shown as text and nothing else. Told a terminal as it is, it could move the cursor, change what
 * stands above, set the title or the clipboard; and marks of writing direction could make one name look like another.
 * All human output passes through here; what passes unchanged is line feeds, tabs, and what can be seen.
 */
const UNSEEN =
  // C0 but tab and line feed, DEL, C1; soft hyphen; marks of direction, line and paragraph separators, invisible
  // operators; byte order mark, interlinear marks; tags. Not the joiners U+200C and U+200D, which scripts and emoji need.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** The text with everything unseen written as `\u{…}`. */
export function visibleText(text: string): string {
  return text.toWellFormed().replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`)
}

/** As `visibleText`, and on one line: nothing in it can pass for a line of its own. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '\\u{a}')
}

/** JSON, on one line unless indented, in which everything unseen is escaped: the same value for a program, and harmless on a terminal. */
export function visibleJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${hexUnit(character.charCodeAt(at))}`).join(''),
  )
}

function hexUnit(codeUnit: number): string {
  return codeUnit.toString(16).padStart(4, '0')
}
