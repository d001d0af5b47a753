/**
 * Makes text of others harmless on a terminal. Raw text could move the cursor, change earlier lines, or set the title or
 * the clipboard. Marks of writing direction could make one name look like another. All output for people passes through
 * this function. Only visible characters, line feeds and tabs pass unchanged.
 */
const UNSEEN =
  // C0 except tab and line feed, DEL, C1; soft hyphen; marks of direction, line and paragraph separators, invisible
  // operators; byte order mark, interlinear marks; tags. Not the joiners U+200C and U+200D, which scripts and emoji need.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** The text with every invisible character written as `\u{…}`. */
export function visibleText(text: string): string {
  return text.toWellFormed().replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`)
}

/** Like `visibleText`, but on one line, so that no part of it can look like a separate line. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '\\u{a}')
}

/** JSON with every invisible character escaped: harmless on a terminal, and the same value for a program. */
export function visibleJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${hexUnit(character.charCodeAt(at))}`).join(''),
  )
}

function hexUnit(codeUnit: number): string {
  return codeUnit.toString(16).padStart(4, '0')
}
