/**
 * The SDK in a browser: the bytes that a page must load, and the example page in Chromium. The page's origin differs from
 * the service's.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { buildPackage } from '@svc/npm/build.ts'
import { PACKAGES } from '@svc/npm/packages.ts'
import { type Browser, type Page, startChromium } from '@svc/test/support/engines/chromium.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { ONE_OF_EACH, startSystem } from '@svc/test/support/system/system.ts'
import { type OutputChunk, rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from './installed.ts'

const EXAMPLE = fileURLToPath(new URL('../../../clients/sdk/examples/browser', import.meta.url))
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Compressed bytes of a client that signs and sends. */
const BUDGET_BYTES = 35 * 1024

const folder = temporaryFolder()

/** Installs the SDK's package as a link into the workspace's store, so that no registry is needed. */
beforeAll(() => {
  const sdk = PACKAGES.find(({ folder }) => folder === 'clients/sdk') ?? expect.fail('no SDK')
  const { dependencies } = buildPackage(sdk, join(folder.path, 'node_modules/@svc/sdk'))
  for (const name of Object.keys(dependencies)) {
    const from = ['clients/sdk', 'libs/envelope', 'libs/svc1', 'libs/contracts']
      .map((lib) => join(ROOT, lib, 'node_modules', name))
      .find(existsSync)
    const to = join(folder.path, 'node_modules', name)
    mkdirSync(dirname(to), { recursive: true })
    symlinkSync(from ?? expect.fail(`no ${name}`), to)
  }
})
afterAll(() => folder[Symbol.dispose]())

/** @returns the files; the first is the entry. */
async function bundle(code: string): Promise<OutputChunk[]> {
  const entry = join(folder.path, 'page.js')
  const plugin = {
    name: 'entry',
    load: (id: string) => (id === entry ? code : null),
    resolveId: (id: string) => (id === entry ? id : null),
  }
  const bundled = await rolldown({ input: entry, cwd: folder.path, platform: 'browser', plugins: [plugin] })
  const { output } = await bundled.generate({ format: 'es', minify: true })
  return output.filter((one) => one.type === 'chunk')
}

/** The files that load before the entry runs. */
function loadedAtFirst(chunks: readonly OutputChunk[]): OutputChunk[] {
  const found = new Set<OutputChunk>()
  const waiting = chunks.filter(({ isEntry }) => isEntry)
  for (let chunk = waiting.pop(); chunk !== undefined; chunk = waiting.pop()) {
    found.add(chunk)
    const { imports } = chunk
    waiting.push(...chunks.filter((one) => imports.includes(one.fileName) && !found.has(one)))
  }
  return [...found]
}

test('a client that signs and sends is at most 35 KB, and sealing is loaded on first use', async () => {
  const chunks = await bundle(`import { AgentClient, generateKey } from '@svc/sdk'
    export async function hello(url) {
      const client = new AgentClient({ url, key: generateKey() })
      await client.register('alice')
      await client.send({ to: 'bob', body: 'hello' })
    }`)
  const first = loadedAtFirst(chunks)
  const bytes = first.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0)
  expect(bytes).toBeLessThan(BUDGET_BYTES)
  expect(bytes).toBeGreaterThan(10_000)
  const modules = first.flatMap(({ moduleIds }) => moduleIds)
  expect(modules.filter((id) => /@hpke|@noble\/curves|typebox/.test(id))).toEqual([])
  expect(chunks.length).toBeGreaterThan(first.length)
})

/** Serves the example page, bundled. */
async function servePage() {
  const chunks = await bundle(readFileSync(join(EXAMPLE, 'page.js'), 'utf8'))
  const files = new Map(chunks.map(({ fileName, code }) => [`/${fileName}`, code]))
  const loaded: string[] = []
  const server = createServer(({ url = '/' }, response) => {
    loaded.push(url)
    const code = files.get(url)
    if (url === '/') response.setHeader('content-type', 'text/html').end(readFileSync(join(EXAMPLE, 'index.html')))
    else if (code === undefined) response.writeHead(404).end()
    else response.setHeader('content-type', 'text/javascript').end(code)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loaded,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('the example page registers, streams, sends and seals from another origin', { timeout: 300_000 }, async () => {
  await using served = await servePage()
  await using system = await startSystem({ replicas: ONE_OF_EACH, env: { SVC_CORS_ORIGINS: served.origin } })
  const browser: Browser = await startChromium()
  try {
    const [alice, bob] = [await browser.newPage(), await browser.newPage()]
    const status = async (page: Page, text: RegExp) => {
      await page.locator('#status', { hasText: /./ }).waitFor()
      await eventually(async () => expect(await page.textContent('#status')).toMatch(text))
    }
    for (const [page, name] of [
      [alice, 'alice'],
      [bob, 'bob'],
    ] as const) {
      await page.goto(served.origin)
      await page.fill('[name=url]', system.urls[0] ?? '')
      await page.fill('[name=name]', name)
      await page.click('#agent button')
      await status(page, new RegExp(`^registered ${name}@`))
    }
    await alice.fill('[name=to]', 'bob')
    await alice.fill('[name=text]', '<b>hello</b> from a page')
    await alice.click('#message button')
    await status(alice, /^sent [0-9a-f]{32} \(requests\)$/)
    // The page sets text, not HTML, so content from others never becomes part of the page.
    await bob.locator('#received li', { hasText: '<b>hello</b> from a page' }).waitFor()
    expect(await bob.locator('#received b').count()).toBe(0)
    const before = served.loaded.length
    await bob.fill('[name=to]', 'bob')
    await bob.fill('[name=text]', 'to myself')
    await bob.check('[name=seal]')
    await bob.click('#message button')
    await status(bob, /^sent [0-9a-f]{32} \(\w+\)$/)
    await bob.locator('#received li', { hasText: 'sealed: to myself' }).waitFor()
    expect(served.loaded.slice(before).filter((path) => path.endsWith('.js')).length).toBeGreaterThan(0)
  } finally {
    await browser.close()
  }
})
