import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { overStdio, temporaryFolder } from './scene.ts'
import { type Stage, startStage } from './stage.ts'

const run = promisify(execFile)
const EXAMPLE = fileURLToPath(new URL('../examples/two-agents.ts', import.meta.url))
const GUIDE = readFileSync(new URL('../../../docs/guides/mcp.md', import.meta.url), 'utf8')

let stage: Stage
beforeAll(async () => {
  stage = await startStage('usual')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** The first block of a language under a heading of the guide. */
function blockOf(heading: string, language: string): string {
  const [, section = ''] = GUIDE.split(`\n## ${heading}\n`)
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(section)?.[1] ?? ''
}

/** The output with placeholders for names, ids, keys and times, which differ in each run. */
function shapeOf(output: string): string {
  return output
    .replaceAll(/\b(alice|bob)-[0-9a-z]{8}\b/g, '$1')
    .replaceAll(/\b(?=[0-9a-f]*\d)[0-9a-f]{16}\b/g, '<nonce>')
    .replaceAll(/\bref\.[\w-]+/g, '<alias>')
    .replaceAll(/ed25519:[0-9a-f]{64}/g, '<key>')
    .replaceAll(/\b[1-9A-HJ-NP-Za-km-z]{42,44}\b/g, '<agent>')
    .replaceAll(/@127\.0\.0\.1:\d+/g, '@<service>')
    .replaceAll(/20\d\d-[0-9T:.-]+Z/g, '<time>')
    .trim()
}

describe('docs/guides/mcp.md', () => {
  test('shows the output of the example', { timeout: 180_000 }, async () => {
    const env = { ...ENVIRONMENT, SVC_URL: stage.url }
    const { stdout } = await run(process.execPath, [EXAMPLE], { env, timeout: 120_000 })
    expect(shapeOf(stdout)).toBe(shapeOf(blockOf('Two agents, without a model', 'text')))
  })

  test('shows a configuration that starts a server', async () => {
    await using stack = new AsyncDisposableStack()
    const folder = stack.use(temporaryFolder())
    const { mcpServers } = JSON.parse(blockOf('Configure a client', 'json'))
    const args: string[] = mcpServers.mailbox.args
    const begin = args.indexOf('mcp') + 1
    const given = args
      .slice(begin)
      .map((arg) => (arg.endsWith('.key') ? folder.path('alice.key') : arg.replace(/^http:.*/, stage.url)))
    const { call } = stack.use(await overStdio('stdio', given))
    expect(await call('whoami')).toMatchObject({ name: 'alice' })
  })
})
