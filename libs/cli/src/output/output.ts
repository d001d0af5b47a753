import type { Io } from '../io.ts'
import { quoted } from './format.ts'
import { isColoured, type Line, paint } from './style.ts'
import { visibleJson, visibleLine, visibleText } from './visible-text.ts'

/**
 * - `table`: words for a person.
 * - `ndjson`: one JSON document per line.
 * - `json`: one indented JSON document; a list is an array.
 * - `ids`: the id or the one word that a script wants, one per line.
 */
export type OutputFormat = 'table' | 'json' | 'ndjson' | 'ids'

/** Results go to stdout in one of the formats; everything else goes to stderr, in words. */
export interface Output {
  /** Whether results are JSON. */
  readonly json: boolean
  /**
   * @param lines the value in words: a line feed in one of them is shown as a character.
   * @param id what `--quiet` prints of it; nothing where it is absent.
   */
  print(value: unknown, lines: readonly Line[], id?: string): void
  /** Runs what prints the items of a list, so that `--output json` puts them into one array. */
  list(work: () => Promise<void>): Promise<void>
  /** What somebody has written, as lines that `print` shows and that no text can get out of (`quoted`). */
  quote(text: string): string[]
  /** A JSON document on stdout, also as a table. */
  document(value: unknown, id?: string): void
  /** Text that is to be used as it is, e.g. a key; never what others wrote. */
  raw(text: string): void
  /** For the person at the keyboard; left out by `--quiet`. What stands behind a line feed is marked as a part of it. */
  note(text: string): void
  /** As `note`, and not left out. */
  warn(text: string): void
}

export function createOutput(
  { stdout, stderr, env }: Pick<Io, 'stdout' | 'stderr' | 'env'>,
  format: OutputFormat,
): Output {
  const coloured = isColoured(env, stdout)
  /** Items of the array under way; undefined outside of a list. */
  let items: number | undefined
  const document = (value: unknown, id?: string): void => {
    if (format === 'ids') {
      if (id !== undefined) stdout.write(`${visibleLine(id)}\n`)
    } else if (format !== 'json') stdout.write(`${visibleJson(value)}\n`)
    else if (items === undefined) stdout.write(`${visibleJson(value, 2)}\n`)
    else {
      stdout.write(`${items === 0 ? '[' : ','}\n${visibleJson(value, 2)}`)
      items += 1
    }
  }
  const warn = (text: string): void => {
    stderr.write(`${visibleText(text).replaceAll('\n', '\n    | ')}\n`)
  }
  return {
    json: format === 'json' || format === 'ndjson',
    document,
    print(value, lines, id) {
      if (format !== 'table') document(value, id)
      else for (const line of lines) stdout.write(`${shown(line)}\n`)
    },
    async list(work) {
      if (format !== 'json') return work()
      items = 0
      await work()
      // Only a list that was read to its end is closed: what a failure cut off is no JSON.
      stdout.write(items === 0 ? '[]\n' : '\n]\n')
      items = undefined
    },
    quote: (text) => quoted(visibleText(text), stdout.columns),
    raw: (text) => stdout.write(text),
    note: (text) => (format === 'ids' ? undefined : warn(text)),
    warn,
  }

  function shown(line: Line): string {
    const text = visibleLine(typeof line === 'string' ? line : line.text)
    return typeof line === 'string' || !coloured ? text : paint(text, line.style)
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
