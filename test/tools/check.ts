/**
 * `npx pnpm check`: types, lint and format, exports, citations, the calls in READMEs, links,
 * compatibility with the last release, and files that must not be committed. Changes nothing.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from '../support/run/command-line.ts'
import { findStaleSections } from './calls/sections.ts'
import { findBadCitations } from './check/citations.ts'
import { findNeedlessExports } from './check/imports/exports.ts'
import { findBrokenLinks, findMissingTests } from './check/links.ts'
import { findBreaks, type ReleaseRecord } from './check/release-growth.ts'
import { RECORD_PATH, recordRelease } from './check/release-record.ts'
import type { SourceFile } from './check/source-file.ts'
import { findMisplacedFiles } from './check/tracked-files.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

interface Check {
  readonly name: string
  /** @returns the problems; empty if there are none. */
  run(): Promise<string> | string
}

const CHECKS: readonly Check[] = [
  { name: 'types', run: () => runTool('tsc', ['--noEmit', '-p', '.']) },
  // The console is checked with the types of browsers instead of those of Node.
  { name: 'types of the console', run: () => runTool('tsc', ['--noEmit', '-p', 'clients/console']) },
  // biome.json also forbids circles of files, and says which packages may import which.
  { name: 'lint and format', run: () => runTool('biome', ['check', '--colors=off', '--error-on-warnings', '.']) },
  { name: 'exports', run: () => findNeedlessExports(readSources(/\.tsx?$|package\.json$/)).join('\n') },
  { name: 'citations', run: () => findBadCitations(readSources(/./)).join('\n') },
  {
    name: 'calls',
    run: () => findStaleSections(readSources(/\.ts$|package\.json$|users\.conf$|README\.md$/)).join('\n'),
  },
  {
    name: 'links',
    run: async () => {
      const pages = readSources(/\.md$/).map(({ path }) => path)
      return [...findMissingTests(readSources(/\.md$|\.test\.ts$/)), await findBrokenLinks(ROOT, pages)]
        .join('\n')
        .trim()
    },
  },
  { name: 'last release', run: findBreaksWithLastRelease },
  { name: 'repository', run: () => findMisplacedFiles(readSources(/./)).join('\n') },
]

/** Runs every check, even after one has failed, and prints what each found. */
export async function runChecks(
  print: (line: string) => void = console.log,
): Promise<{ passed: number; failed: number }> {
  let failed = 0
  for (const { name, run } of CHECKS) {
    const problems = await run()
    if (problems !== '') failed += 1
    print(problems === '' ? `ok      ${name}` : `FAILED  ${name}\n${problems}`)
  }
  return { passed: CHECKS.length - failed, failed }
}

/** This tree must run beside the last release (docs/operating/upgrade.md, Compatibility). */
async function findBreaksWithLastRelease(): Promise<string> {
  const last = JSON.parse(readFileSync(RECORD_PATH, 'utf8')) as ReleaseRecord
  return findBreaks(last, await recordRelease()).join('\n')
}

function runTool(name: string, args: string[]): Promise<string> {
  const tool = join(ROOT, 'node_modules', '.bin', name)
  return new Promise((resolve) => {
    execFile(tool, args, { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      resolve(error === null ? '' : `${stdout}${stderr}`.trim() || error.message)
    })
  })
}

/** Files that are committed, or that `git add` would add. The tree may belong to another user, so git must be told to trust it. */
export function readSources(pattern: RegExp): SourceFile[] {
  const args = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const paths = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES }).split('\0')
  return paths
    .filter((path) => path !== '' && pattern.test(path) && existsSync(join(ROOT, path)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

if (import.meta.main) {
  readCommandLine({
    command: 'npx pnpm check',
    does: 'Types, lint and format, exports, citations, the calls in READMEs, links, compatibility with the last release, and files that must not be committed. Changes nothing.',
    options: {},
  })
  process.exitCode = (await runChecks()).failed === 0 ? 0 : 1
}
