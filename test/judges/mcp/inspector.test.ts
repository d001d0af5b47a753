/** The command line of @modelcontextprotocol/inspector against `svc mcp`. Its `--strict` reports schemas that some hosts refuse. */
import { beforeAll, expect, test } from 'vitest'
import { shareHarness } from '../../support/system/harness.ts'
import { type ExpectedFailures, expectOnly } from '../expected.ts'
import { runJudge, type Verdict } from '../run-judge.ts'
import { type ServedMailbox, serveMailbox } from './served-mailbox.ts'

const SCHEMA_FINDINGS: ExpectedFailures = {}

let mailbox: ServedMailbox
beforeAll(async () => {
  await using stack = new AsyncDisposableStack()
  const h = stack.use(await shareHarness('roomy'))
  mailbox = stack.use(await serveMailbox(h.place))
  const started = stack.move()
  return () => started.disposeAsync()
})

type Way = 'stdio' | 'http'

/** A busy machine starts a server slowly. */
const PATIENT = ['--connect-timeout', '120000']

async function inspect(way: Way, era: 'legacy' | 'modern', method: string, ...args: string[]): Promise<Verdict> {
  const target =
    way === 'stdio'
      ? mailbox.command
      : ['--server-url', mailbox.url, '--transport', 'http', '--header', `Authorization: Bearer ${mailbox.token}`]
  const verdict = await runJudge(
    '@modelcontextprotocol/inspector',
    ['--cli', ...target, '--method', method, '--protocol-era', era, '--format', 'json', ...PATIENT, ...args],
    { program: 'inspector' },
  )
  expect(verdict.stdout, verdict.stderr).toMatch(/^\s*[{[]/)
  return verdict
}

test('over stdio, legacy: it calls a tool', async () => {
  const { code, stdout } = await inspect('stdio', 'legacy', 'tools/call', '--tool-name', 'whoami')
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(mailbox.name) })
})

test('over stdio, modern: it lists the prompts', async () => {
  const { code, stdout } = await inspect('stdio', 'modern', 'prompts/list')
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('introduce') })
})

test('over HTTP, legacy: it lists the resources', async () => {
  const { code, stdout } = await inspect('http', 'legacy', 'resources/list')
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('svc://') })
})

test('over HTTP, modern: it lists the tools, and --strict finds no schema that some hosts refuse', async () => {
  const { stdout } = await inspect('http', 'modern', 'tools/list', '--strict')
  const { result, schemaFindings = [] } = JSON.parse(stdout) as Listed
  expect(result.tools.length).toBeGreaterThan(20)
  expectOnly(
    schemaFindings.map((finding) => JSON.stringify(finding)),
    SCHEMA_FINDINGS,
  )
})

interface Listed {
  result: { tools: unknown[] }
  schemaFindings?: unknown[]
}
