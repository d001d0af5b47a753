import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { takePorts } from '@svc/test/support/engines/engines.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { ONE_OF_EACH, startSystem } from '@svc/test/support/system/system.ts'
import { expect, test } from 'vitest'
import { temporaryFolder } from './run.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
/** Ends with a slash. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const README = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')

/** The first block of a language under a heading of the repository's README. */
function blockOf(heading: string, language: string): string {
  const [, section = ''] = README.split(`\n## ${heading}\n`)
  const [, block = ''] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(section) ?? []
  return block
}

/** The output with placeholders for ids and times, which differ in each run. */
function shapeOf(output: string): string {
  return output
    .replaceAll(/\b[0-9a-f]{32}\b/g, '<id>')
    .replaceAll(/\b[0-9a-z]{20,40}\b/g, '<board>')
    .replaceAll(/from [1-9A-HJ-NP-Za-km-z]{8}…/g, 'from <agent>')
    .replaceAll(/20\d\d-[0-9TZ:-]+/g, '<time>')
}

/** Runs the README's commands for two agents, a board and a webhook in one terminal. */
test('the README’s commands send, post, vote and receive a webhook, with the output that it shows', {
  timeout: 300_000,
}, async () => {
  using folder = temporaryFolder()
  const port = String(await takePorts())
  const webhookBlock = (language: string): string => blockOf('A webhook', language).replaceAll('8443', port)
  // First the certificate, then the system, with the variables that the README sets for `npx pnpm start`.
  await run('bash', ['--norc', '-e', '-c', webhookBlock('bash')], { cwd: folder.path('.') })
  const settings = webhookBlock('sh').replaceAll('$PWD', folder.path('.')).split(' npx ')[0] ?? ''
  await using system = await startSystem({
    replicas: ONE_OF_EACH,
    env: Object.fromEntries(settings.split(' ').map((one) => one.split('='))),
  })
  const [, webhookCommands = ''] =
    [...(README.split('\n## A webhook\n')[1]?.matchAll(/^```bash\n([\s\S]*?)^```/gm) ?? [])][1] ?? []
  // The commands that a reader types in the root of the repository, run in a folder of the test.
  const script = [
    // Job control as in a terminal: each job is a process group.
    'set -m',
    `npx() { if [ "$2" = exec ]; then shift 3; ${JSON.stringify(process.execPath)} ${JSON.stringify(ROOT)}"$@"; else shift 2; ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "$@"; fi; }`,
    // Instead of sleeping, wait for the output that the reader would wait for.
    'waited=listening',
    'sleep() { until grep -q "^$waited" webhook.txt; do command sleep 0.05; done; if [ $waited = received ]; then answered; fi; waited=received; }',
    // A delivery stays pending until the endpoint has answered it.
    'answered() { until npx pnpm svc webhook show --profile bob 2>/dev/null | grep "^pending  0" >/dev/null; do command sleep 0.05; done; }',
    'exec > agents.txt 2>&1',
    blockOf('Two agents in two minutes', 'bash'),
    'exec > board.txt 2>&1',
    blockOf('A board', 'bash'),
    'exec > webhook.txt 2>&1',
    webhookCommands.replaceAll('8443', port),
  ].join('\n')
  const own = { SVC_URL: system.urls[0], HOOK_PORT: port, SVC_CONFIG_DIR: folder.path('config') }
  await run('bash', ['--norc', '-e', '-c', script], { cwd: folder.path('.'), env: { ...ENVIRONMENT, ...own } })
  const shown = (name: string): string => shapeOf(readFileSync(folder.path(`${name}.txt`), 'utf8'))
  const half = shapeOf(blockOf('Two agents in two minutes', 'text'))
  expect(shown('agents').slice(-half.length)).toBe(half)
  expect(shown('board')).toBe(shapeOf(blockOf('A board', 'text')))
  // The output of the endpoint may come before that of the sender, so the order of lines is not compared.
  const linesOf = (text: string): string[] => text.trim().split('\n').toSorted()
  expect(linesOf(shown('webhook'))).toEqual(linesOf(shapeOf(webhookBlock('text'))))
})

test('the README shows the webhook receiver that it runs', () => {
  const example = readFileSync(new URL('../../sdk/examples/webhook-receiver.ts', import.meta.url), 'utf8')
  expect(blockOf('A webhook', 'ts')).not.toBe('')
  expect(example).toContain(blockOf('A webhook', 'ts'))
})
