/** A headless Chromium for tests of pages, on bare machines and in CI. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inflate } from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { findTestRun } from './engines.ts'

export type { Browser, BrowserContext, Locator, Page, Request } from 'playwright-core'

interface Program {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
}

const START_LIMIT_MS = 90_000
/** Paths of Chromium and Chrome, for machines that the npm package has no browser for. */
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/**
 * Starts Chromium, from the path in `SVC_TEST_CHROMIUM` if it is set. Otherwise Linux on x64 uses the browser and libraries
 * of the npm package `@sparticuz/chromium`, and other machines use an installed browser.
 * @param options.ownFolder outside a test run, the browser is unpacked into its own folder, which is deleted with it.
 * @throws Error if there is no browser, so that a test that needs one fails instead of being skipped.
 */
export async function startChromium({ ownFolder = false } = {}): Promise<Browser> {
  const folder = ownFolder ? mkdtempSync(join(tmpdir(), 'svc-chromium-')) : undefined
  const { path, env } = await findChromium(folder)
  // The pages are our own, so no sandbox is needed. Without a sandbox Chromium also runs as root and in containers.
  const browser = await chromium.launch({
    executablePath: path,
    timeout: START_LIMIT_MS,
    args: ['--no-sandbox', '--disable-gpu'],
    env: { ...process.env, ...env },
  })
  if (folder !== undefined) browser.on('disconnected', () => rmSync(folder, { recursive: true, force: true }))
  return browser
}

async function findChromium(folder: string | undefined): Promise<Program> {
  const { SVC_TEST_CHROMIUM: named } = process.env
  if (named !== undefined) return { path: named, env: {} }
  if (process.platform === 'linux' && process.arch === 'x64')
    return unpackChromium(folder ?? (await findTestRun()).folder)
  const path = INSTALLED.find(existsSync)
  if (path !== undefined) return { path, env: {} }
  throw new Error('no Chromium is installed here: install one, or name its program in SVC_TEST_CHROMIUM')
}

/** Unpacks Chromium into a folder that is deleted later. The package itself leaves 200 MB in the temporary folder. */
async function unpackChromium(folder: string): Promise<Program> {
  const target = join(folder, `chromium-${process.pid}`)
  mkdirSync(target, { recursive: true })
  const packed = (name: string): string =>
    fileURLToPath(new URL(`../bin/${name}`, import.meta.resolve('@sparticuz/chromium')))
  const { TMPDIR: before } = process.env
  process.env.TMPDIR = target // `inflate` unpacks into this folder
  try {
    const [path, libraries] = await Promise.all([inflate(packed('chromium.br')), inflate(packed('al2023.tar.br'))])
    await inflate(packed('fonts.tar.br'))
    return { path, env: { LD_LIBRARY_PATH: join(libraries, 'lib'), XDG_CACHE_HOME: target, HOME: target } }
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}
