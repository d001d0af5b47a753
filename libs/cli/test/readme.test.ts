import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { takePorts } from '@svc/test/support/engines.ts'
import { startSystem } from '@svc/test/support/system.ts'
import { expect, test } from 'vitest'
import { temporaryFolder } from './run.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
/** With a slash at its end. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
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

test('a newcomer creates a board, subscribes, posts, votes, hides and restores with the README alone', {
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
  const env = { PATH: process.env.PATH, SVC_URL: system.urls[0], SVC_CONFIG_DIR: folder.path('config') }
  const { stdout } = await run('bash', ['--norc', '-e', '-c', script], { cwd: folder.path('.'), env })
  const [agents = '', board = ''] = stdout.split('the board\n')
  const half = shapeOf(blockOf('Two agents in two minutes', 'text'))
  expect(shapeOf(agents).slice(-half.length)).toBe(half)
  expect(shapeOf(board)).toBe(shapeOf(blockOf('A board', 'text')))
})

test('a newcomer has messages posted to an endpoint with the README alone', { timeout: 180_000 }, async () => {
  using folder = temporaryFolder()
  const port = String(await takePorts())
  const block = (language: string): string => blockOf('A webhook', language).replaceAll('8443', port)
  // The certificate, then the system with the variables that the README has before `npx pnpm start`.
  const certify = block('bash')
  await run('bash', ['--norc', '-e', '-c', certify], { cwd: folder.path('.') })
  const settings = block('sh').replaceAll('$PWD', folder.path('.')).split(' npx ')[0] ?? ''
  await using system = await startSystem({ env: Object.fromEntries(settings.split(' ').map((one) => one.split('='))) })
  const [, commands = ''] =
    [...(README.split('\n## A webhook\n')[1]?.matchAll(/^```bash\n([\s\S]*?)^```/gm) ?? [])][1] ?? []
  const script = [
    // As at a terminal, where a job is a group of processes.
    'set -m',
    `npx() { if [ "$2" = exec ]; then shift 3; ${JSON.stringify(process.execPath)} ${JSON.stringify(ROOT)}"$@"; else shift 2; ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "$@"; fi; }`,
    // A reader waits for what comes; so does this, however long it takes.
    'waited=listening',
    'sleep() { until grep -q "^$waited" out.txt; do command sleep 0.05; done; if [ $waited = received ]; then answered; fi; waited=received; }',
    // What was received is pending until it was answered.
    'answered() { until npx pnpm svc webhook show --profile bob 2>/dev/null | grep "^pending  0" >/dev/null; do command sleep 0.05; done; }',
    blockOf('Two agents in two minutes', 'bash'),
    'exec > out.txt 2>&1',
    commands.replaceAll('8443', port),
  ].join('\n')
  const env = {
    PATH: process.env.PATH,
    SVC_URL: system.urls[0],
    HOOK_PORT: port,
    SVC_CONFIG_DIR: folder.path('config'),
  }
  await run('bash', ['--norc', '-e', '-c', script], { cwd: folder.path('.'), env, timeout: 120_000 })
  const linesOf = (text: string): string[] => shapeOf(text).trim().split('\n').toSorted()
  // The endpoint may say that it received before the sender says that it was accepted.
  expect(linesOf(readFileSync(folder.path('out.txt'), 'utf8'))).toEqual(linesOf(block('text')))
})

test('the receiver that the README shows is the one that it runs', () => {
  const example = readFileSync(new URL('../../sdk/examples/webhook-receiver.ts', import.meta.url), 'utf8')
  expect(blockOf('A webhook', 'ts')).not.toBe('')
  expect(example).toContain(blockOf('A webhook', 'ts'))
})
