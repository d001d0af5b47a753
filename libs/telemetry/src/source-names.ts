import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

const KEPT_MS = 60_000

/** By module. Undefined: the module has no map. A map takes 25 MiB, so it is kept only for errors that come in a row. */
const maps = new Map<string, SourceMap | undefined>()

/**
 * Names the sources in a stack trace of a built program. Reads a map when an error is first logged: Node's own support reads it at the
 * start, and maps every stack that a library looks at, which costs a quarter more CPU and 10 to 20 MiB for each process.
 */
export function nameSources(stack: string): string {
  return stack.replace(
    /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/g,
    (whole, module: string, line: string, column: string) => {
      if (!maps.has(module)) {
        maps.set(module, readMap(module))
        setTimeout(() => maps.delete(module), KEPT_MS).unref()
      }
      const entry = maps.get(module)?.findEntry(Number(line) - 1, Number(column) - 1)
      if (entry === undefined || !('originalSource' in entry)) return whole
      const source = fileURLToPath(new URL(entry.originalSource, module))
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    },
  )
}

function readMap(module: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${module}.map`), 'utf8')))
  } catch {
    return undefined
  }
}
