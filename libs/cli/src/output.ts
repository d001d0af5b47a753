import { quoted } from './format.ts'
import type { Io } from './io.ts'
import { visibleJson, visibleLine, visibleText } from './visible-text.ts'

/** Results go to stdout, in words or with `--json` as one document per line; everything else goes to stderr, in words. */
export interface Output {
  readonly json: boolean
  /** @param lines the same in words, one line each: a line feed in one of them is shown as a character. */
  print(value: unknown, lines: readonly string[]): void
  /** What somebody has written, as lines that `print` shows and that no text can get out of (`quoted`). */
  quote(text: string): string[]
  /** One JSON document on stdout, with or without `--json`. */
  document(value: unknown): void
  /** Text that is to be used as it is, e.g. a key; never what others wrote. */
  raw(text: string): void
  /** For the person at the keyboard. What stands behind a line feed is marked as a part of it. */
  note(text: string): void
}

export function createOutput({ stdout, stderr }: Pick<Io, 'stdout' | 'stderr'>, json: boolean): Output {
  const document = (value: unknown): void => {
    stdout.write(`${visibleJson(value)}\n`)
  }
  return {
    json,
    document,
    print(value, lines) {
      if (json) document(value)
      else for (const line of lines) stdout.write(`${visibleLine(line)}\n`)
    },
    quote: (text) => quoted(visibleText(text), stdout.columns),
    raw: (text) => stdout.write(text),
    note: (text) => stderr.write(`${visibleText(text).replaceAll('\n', '\n    | ')}\n`),
  }
}

/** Names and values in two columns. */
export function columns(rows: Readonly<Record<string, string | number | boolean>>): string[] {
  const width = Math.max(...Object.keys(rows).map((name) => name.length))
  return Object.entries(rows).map(([name, value]) => `${name.padEnd(width)}  ${value}`)
}

/** Rows of cells under each other. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, at) => Math.max(most[at] ?? 0, cell.length)), [])
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
