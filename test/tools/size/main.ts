/** `npx pnpm size`: how much there is to read, by package: lines of source, of SQL and of tests, long files and long functions. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from '../../support/run/command-line.ts'
import { packageOf } from '../check/imports/imports.ts'
import { readSources } from '../check.ts'
import { type LongFunction, MAX_FUNCTION_LINES, reportOf } from './report.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const BIOME = fileURLToPath(new URL('../../../node_modules/.bin/biome', import.meta.url))
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

interface Finding {
  readonly message: string
  readonly location: { readonly path: string; readonly start: { readonly line: number } }
}

const { values } = readCommandLine({
  command: 'npx pnpm size',
  does: 'Prints lines of source, of SQL and of tests by package, files over 250 lines and functions over 60 lines.',
  options: { long: { kind: 'flag', what: 'Name the long files and functions.' } },
})
const files = readSources(/\.(?:tsx?|sql)$/).filter(({ path }) => packageOf(path) !== undefined)
console.log(reportOf(files, await findLongFunctions(), values.long))

/** Functions of more lines than a reader sees at once, by the rule of the linter. */
async function findLongFunctions(): Promise<LongFunction[]> {
  const args = [
    'lint',
    `--config-path=${fileURLToPath(new URL('long-functions.json', import.meta.url))}`,
    '--reporter=json',
  ]
  const output = await new Promise<string>((resolve) => {
    // It fails if it finds anything.
    execFile(BIOME, [...args, '--max-diagnostics=none', '.'], { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES }, (_, stdout) =>
      resolve(stdout),
    )
  })
  const { diagnostics } = JSON.parse(output) as { diagnostics: Finding[] }
  return diagnostics.flatMap(({ message, location: { path, start } }) => {
    const [, lines] = /too many lines \((\d+)\)/.exec(message) ?? []
    const isLong = Number(lines) > MAX_FUNCTION_LINES
    return isLong ? [{ path, line: start.line, lines: Number(lines) }] : []
  })
}
