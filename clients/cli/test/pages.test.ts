/** Runs the commands of the README and of the guides, and compares the output with what the pages show. */
import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ERRORS } from '@svc/contracts/errors.ts'
import { takePorts } from '@svc/test/support/engines/engines.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { ONE_OF_EACH, startSystem, type TestSystem } from '@svc/test/support/system/system.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf, runPage, sectionOf } from './page.ts'
import { temporaryFolder } from './run.ts'

const run = promisify(execFile)
/** Ends with a slash. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const FIRST = 'docs/guides/quick-start.md'
const RECEIVING = 'docs/guides/receiving.md'
const BY_HAND = 'docs/guides/signing-by-hand.md'
const GUIDES = readdirSync(`${ROOT}docs/guides`).map((name) => `docs/guides/${name}`)
/** The quick start comes first, because the other pages use its agents. */
const PAGES = [FIRST, ...GUIDES.filter((path) => path !== FIRST && languagesOf(path).includes('bash'))]

let system: TestSystem
let port: string
const folder = temporaryFolder()

beforeAll(async () => {
  port = String(await takePorts())
  system = await startSystem({ replicas: ONE_OF_EACH, env: await settingsOfWebhooks() })
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

function readPage(path: string): string {
  return readFileSync(`${ROOT}${path}`, 'utf8').replaceAll('8443', port)
}

function languagesOf(path: string): string[] {
  return blocksOf(readFileSync(`${ROOT}${path}`, 'utf8')).map(({ language }) => language)
}

function url(): string {
  return system.urls[0] ?? ''
}

/** Runs the block that makes a certificate and starts the system. Returns the variables that it sets for the system. */
async function settingsOfWebhooks(): Promise<NodeJS.ProcessEnv> {
  const [block] = blocksOf(readPage(RECEIVING)).filter(({ language }) => language === 'sh')
  const script = `npx() { env; }\n${block?.code}`
  const { stdout } = await run('bash', ['--norc', '-e', '-c', script], { cwd: folder.path('.'), env: ENVIRONMENT })
  const lines = stdout.split('\n').filter((line) => /^(SVC|NODE_EXTRA)_/.test(line))
  return Object.fromEntries(lines.map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)]))
}

/** Signing by hand needs curl and OpenSSL 3. The openssl of macOS is a different program. */
function canSignByHand(): boolean {
  try {
    const command = 'curl --version >&2 && bash --version >&2 && openssl version'
    return /^OpenSSL [3-9]/.test(execFileSync('sh', ['-c', command], { encoding: 'utf8', stdio: 'pipe' }))
  } catch {
    return false
  }
}

test.for(PAGES)('the commands of %s print what the page shows', { timeout: 900_000 }, async (path, { skip }) => {
  skip(path === BY_HAND && !canSignByHand(), 'needs curl, bash and OpenSSL 3')
  await runPage(readPage(path), { folder: folder.path('.'), url: url(), env: { HOOK_PORT: port } })
})

/** A name can be registered only once, so the README's agents get other names than those of the quick start. */
test('the commands of the first exchange of README.md print what it shows', { timeout: 900_000 }, async () => {
  using own = temporaryFolder()
  const section = sectionOf(readPage('README.md'), 'Two agents in two minutes')
  expect(blocksOf(section).map(({ language }) => language)).toContain('text')
  const renamed = section.replaceAll(/\b(alice|bob)\b/g, '$1-of-readme')
  await runPage(renamed, { folder: own.path('.'), url: url() })
})

/** The programs that these pages run. */
const EXAMPLES = [
  ['README.md', 'two-agents.ts'],
  [FIRST, 'two-agents.ts'],
  [RECEIVING, 'webhook-receiver.ts'],
  ['docs/guides/answering.md', 'answering-agent.ts'],
  ['docs/guides/requests.md', 'asking.ts'],
].map(([path = '', name = '']) => ({ path, name, code: readFileSync(`${ROOT}clients/sdk/examples/${name}`, 'utf8') }))

function programsOf(path: string): string[] {
  const blocks = blocksOf(readFileSync(`${ROOT}${path}`, 'utf8'))
  return blocks.filter(({ language }) => language === 'ts').map(({ code }) => code)
}

test.each(EXAMPLES)('$path shows the example $name', ({ path, code }) => {
  expect(programsOf(path).filter((program) => code.includes(program))).toHaveLength(1)
})

/** Names that the blocks use but do not define. A reader's own program would define them. */
const NAMES_OF_READER = `import type { AgentClient, AgentKey, Envelope, Event, Message } from '@svc/sdk'
declare global {
  const client: AgentClient
  const alice: AgentClient
  const bob: AgentClient
  const key: AgentKey
  const boardId: string
  const saved: number
  function handle(message: Message): Promise<void>
  function save(cursor: number): Promise<void>
  function store(envelope: Envelope): Promise<void>
  function setAside(message: Message, reason: string): Promise<void>
}
`

test('TypeScript blocks of the guides compile, if they are not part of an example', async () => {
  using place = temporaryFolder()
  writeFileSync(place.path('names.d.ts'), NAMES_OF_READER)
  const blocks = GUIDES.flatMap((path) =>
    programsOf(path)
      .filter((program) => !EXAMPLES.some(({ code }) => code.includes(program)))
      .map((code, at) => ({ file: `${path.replaceAll(/\W/g, '-')}-${at + 1}.mts`, code })),
  )
  for (const { file, code } of blocks) writeFileSync(place.path(file), `${code}\nexport {}\n`)
  const compilerOptions = {
    noUnusedLocals: false,
    lib: ['es2024', 'esnext.disposable', 'esnext.typedarrays', 'dom'],
    typeRoots: [`${ROOT}node_modules/@types`],
    paths: {
      '@svc/sdk': [`${ROOT}clients/sdk/src/public-api.ts`],
      '@svc/sdk/file-store': [`${ROOT}clients/sdk/src/store/file-store.ts`],
    },
  }
  const config = { extends: `${ROOT}tsconfig.base.json`, compilerOptions, include: ['*.mts', '*.d.ts'] }
  writeFileSync(place.path('tsconfig.json'), JSON.stringify(config))
  const complaints = await run(`${ROOT}node_modules/.bin/tsc`, ['-p', place.path('.')]).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  )
  expect(complaints).toBe('')
  expect(blocks.length).toBeGreaterThan(0)
})

test('errors-and-retries.md has one row for each code, with its status', () => {
  const rows = readFileSync(`${ROOT}docs/guides/errors-and-retries.md`, 'utf8').matchAll(/^\| (\d{3}) +\| `(\w+)`/gm)
  const listed = [...rows].map(([, status, code]) => `${code} ${status}`)
  const expected = Object.entries(ERRORS).map(([code, { status }]) => `${code} ${status}`)
  expect(listed.toSorted()).toEqual(expected.toSorted())
})

test('the base58 function of signing-by-hand.md is correct', async () => {
  const block = blocksOf(readFileSync(`${ROOT}${BY_HAND}`, 'utf8')).find(({ code }) => code.includes('base58()'))
  const [, base58 = ''] = /(base58\(\)[\s\S]*?\n}\n)/.exec(block?.code ?? '') ?? []
  // Test vectors of draft-msporny-base58.
  const known = {
    '48656c6c6f20576f726c6421': '2NEpo7TZRRrLZSi2U',
    '54686520717569636b2062726f776e20666f78206a756d7073206f76657220746865206c617a7920646f672e':
      'USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z',
    '0000287fb4cd': '11233QC4',
  }
  for (const [hex, encoded] of Object.entries(known)) {
    expect((await run('bash', ['--norc', '-c', `${base58}\nbase58 ${hex}`])).stdout).toBe(`${encoded}\n`)
  }
})
