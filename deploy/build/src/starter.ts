/**
 * Runs first in every program. The cache of compiled code, and the names of sources in stack traces, do not depend on who starts the
 * program.
 */
import { readFileSync } from 'node:fs'
import { enableCompileCache, flushCompileCache, SourceMap } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const PROGRAMS = pathToFileURL(`${import.meta.dirname}/`)
const FLUSH_MS = 10_000
const maps = new Map<string, SourceMap>()

// If the folder cannot be written, nothing is cached. NODE_COMPILE_CACHE names another one.
enableCompileCache(join(import.meta.dirname, '../compiled'))
// Node writes the cache when a process exits, which a killed one does not.
setTimeout(flushCompileCache, FLUSH_MS).unref()

/** Node's own support reads every map at the start. This reads one when a stack is first printed. */
Error.prepareStackTrace = (error, frames) =>
  [String(error), ...frames.map((frame) => `    at ${sourceOf(frame)}`)].join('\n')

function sourceOf(frame: NodeJS.CallSite): string {
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()]
  if (!file?.startsWith(PROGRAMS.href) || line === null || column === null) return String(frame)
  try {
    const entry = mapOf(file).findEntry(line - 1, column - 1)
    if (!('originalSource' in entry)) return String(frame)
    const source = fileURLToPath(new URL(entry.originalSource, PROGRAMS))
    const place = `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    return String(frame).replace(`${file}:${line}:${column}`, place)
  } catch {
    return String(frame) // the map is not there
  }
}

function mapOf(file: string): SourceMap {
  let map = maps.get(file)
  if (map === undefined) {
    map = new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8')))
    maps.set(file, map)
  }
  return map
}
