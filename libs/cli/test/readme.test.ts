import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startSystem } from '@svc/test/support/system.ts'
import { expect, test } from 'vitest'
import { temporaryFolder } from './run.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const README = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')

/** The first block of a language under a heading of the repository's README. */
function blockOf(heading: string, language: string): string {
  const [, section = ''] = README.split(`\n## ${heading}\n`)
  const [, block = ''] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(section) ?? []
  return block
}

/** The output with what is everybody's own left out. */
function shapeOf(output: string): string {
  return output
    .replaceAll(/\b[0-9a-f]{32}\b/g, '<id>')
    .replaceAll(/\b[0-9a-z]{20,40}\b/g, '<board>')
    .replaceAll(/from [1-9A-HJ-NP-Za-km-z]{8}…/g, 'from <agent>')
    .replaceAll(/20\d\d-[0-9TZ:-]+/g, '<time>')
}

test('issue 3: a newcomer creates a board, subscribes, posts, votes, hides and restores with the README alone', {
  timeout: 180_000,
}, async () => {
  await using system = await startSystem({ replicas: { gateway: 1, identity: 1, messaging: 1, boards: 1, budget: 1 } })
  using folder = temporaryFolder()
  // What a reader types from the root of the repository, in a folder of the test's, and sees on the terminal.
  const script = [
    `npx() { shift 2; ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "$@"; }`,
    'exec 2>&1',
    blockOf('Two agents in two minutes', 'bash'),
    'echo the board',
    blockOf('A board', 'bash'),
  ].join('\n')
  const env = { PATH: process.env.PATH, SVC_URL: system.urls[0] }
  const { stdout } = await run('bash', ['--norc', '-e', '-c', script], { cwd: folder.path('.'), env })
  const [agents = '', board = ''] = stdout.split('the board\n')
  const half = shapeOf(blockOf('Two agents in two minutes', 'text'))
  expect(shapeOf(agents).slice(-half.length)).toBe(half)
  expect(shapeOf(board)).toBe(shapeOf(blockOf('A board', 'text')))
})
