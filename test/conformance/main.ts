/**
 * `npx pnpm conformance`: writes docs/conformance.md from the names of the tests, and reports rows without tests. Runs no
 * test. `run` and `client` after it are the public runner (clients/conformance), and `differential` compares two servers.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from '../support/run/command-line.ts'
import type { NamedTest } from './cite.ts'
import { conformanceOf, PAGE_PATH } from './page.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

const COMMANDS: Readonly<Record<string, string>> = {
  run: '@svc/conformance/main.ts',
  client: '@svc/conformance/main.ts',
  differential: '../reference/differential/main.ts',
}

const command = COMMANDS[process.argv[2] ?? '']
if (command === undefined) await writePage()
else {
  if (process.argv[2] === 'run' || process.argv[2] === 'differential') process.argv.splice(2, 1)
  await import(command)
}

async function writePage(): Promise<void> {
  readCommandLine({
    command: 'npx pnpm conformance',
    does: 'Writes docs/conformance.md from the names of the tests, and fails if a row of the specification has none. Runs no test.',
    options: {},
  })
  const { page, problems } = conformanceOf(await listTests())
  writeFileSync(join(ROOT, PAGE_PATH), page)
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
}

/** Loads the modules, so that the rows of tables have their final names. */
async function listTests(): Promise<NamedTest[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'))
  try {
    const file = join(folder, 'tests.json')
    await run([VITEST, 'list', '--staticParse=false', `--json=${file}`])
    const tests = JSON.parse(readFileSync(file, 'utf8')) as NamedTest[]
    return tests.map(({ name, file: path }) => ({ name, file: relative(ROOT, path) }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      if (error === null) resolve()
      else reject(new Error(`the tests cannot be listed:\n${stdout}${stderr}`))
    })
  })
}
