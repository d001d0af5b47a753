import type { Io } from '../io.ts'
import { quoted } from './format.ts'
import { isColoured, type Line, paint } from './style.ts'
import { visibleJson, visibleLine, visibleText } from './visible-text.ts'

/**
 * - `table`: text for people.
 * - `ndjson`: one JSON document per line.
 * - `json`: one indented JSON document. A list is an array.
 * - `ids`: only ids or single words for scripts, one per line.
 */
export type OutputFormat = 'table' | 'json' | 'ndjson' | 'ids'

/** Results go to stdout in one of the formats. Everything else goes to stderr as text. */
export interface Output {
  /** Whether results are JSON. */
  readonly json: boolean
  /**
   * @param lines the value as text. A line feed inside a line is escaped.
   * @param id printed with `--quiet`. If absent, `--quiet` prints nothing.
   */
  print(value: unknown, lines: readonly Line[], id?: string): void
  /** Runs `work`, which prints the items of a list. With `--output json` they become one array. */
  list(work: () => Promise<void>): Promise<void>
  /** Text of another agent as lines for `print`, each marked with a bar (`quoted`). */
  quote(text: string): string[]
  /** Prints a JSON document, also in the format `table`. */
  document(value: unknown, id?: string): void
  /** Prints text without escaping, e.g. a key. Never use it for text of others. */
  raw(text: string): void
  /** Prints a note for the user, except with `--quiet`. Further lines of the text are marked with a bar. */
  note(text: string): void
  /** Like `note`, but also with `--quiet`. */
  warn(text: string): void
}

export function createOutput(
  { stdout, stderr, env }: Pick<Io, 'stdout' | 'stderr' | 'env'>,
  format: OutputFormat,
): Output {
  const coloured = isColoured(env, stdout)
  /** Items printed so far in the current array. Undefined outside of a list. */
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
      // Only a complete list gets its closing bracket. After a failure the output is not valid JSON, so that a script
      // notices it.
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

/** Formats names and values in two columns. */
export function columns(rows: Readonly<Record<string, string | number | boolean>>): string[] {
  const width = Math.max(...Object.keys(rows).map((name) => name.length))
  return Object.entries(rows).map(([name, value]) => `${name.padEnd(width)}  ${value}`)
}

/** Formats rows of cells in aligned columns. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, at) => Math.max(most[at] ?? 0, cell.length)), [])
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
