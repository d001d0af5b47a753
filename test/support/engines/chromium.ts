/** A headless Chromium for tests of pages, on bare machines and in CI. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inflate } from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { findTestRun } from './engines.ts'

export type { Browser, Page, Request } from 'playwright-core'

interface Program {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
}

const START_LIMIT_MS = 90_000
/** Paths of Chromium and Chrome on machines for which the package has no browser. */
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/**
 * Starts Chromium. `SVC_TEST_CHROMIUM` names the program. Without it, Linux on x64 uses the browser and libraries of the npm package
 * `@sparticuz/chromium`, and other machines use an installed browser.
 * @throws Error if there is no browser, so that a test that needs one fails instead of being skipped.
 */
export async function startChromium(): Promise<Browser> {
  const { path, env } = await findChromium()
  // The pages are our own, so no sandbox is needed. Without a sandbox Chromium also runs as root and in containers.
  return chromium.launch({
    executablePath: path,
    timeout: START_LIMIT_MS,
    args: ['--no-sandbox', '--disable-gpu'],
    env: { ...process.env, ...env },
  })
}

async function findChromium(): Promise<Program> {
  const { SVC_TEST_CHROMIUM: named } = process.env
  if (named !== undefined) return { path: named, env: {} }
  if (process.platform === 'linux' && process.arch === 'x64') return unpackChromium()
  const path = INSTALLED.find(existsSync)
  if (path !== undefined) return { path, env: {} }
  throw new Error('no Chromium is installed here: install one, or name its program in SVC_TEST_CHROMIUM')
}

/** Unpacks Chromium into the folder of the test run, which is deleted later. The package itself leaves 200 MB in the temporary folder. */
async function unpackChromium(): Promise<Program> {
  const { folder } = await findTestRun()
  const target = join(folder, `chromium-${process.pid}`)
  mkdirSync(target, { recursive: true })
  const packed = (name: string): string =>
    fileURLToPath(new URL(`../bin/${name}`, import.meta.resolve('@sparticuz/chromium')))
  const { TMPDIR: before } = process.env
  process.env.TMPDIR = target // `inflate` unpacks to this folder
  try {
    const [path, libraries] = await Promise.all([inflate(packed('chromium.br')), inflate(packed('al2023.tar.br'))])
    await inflate(packed('fonts.tar.br'))
    return { path, env: { LD_LIBRARY_PATH: join(libraries, 'lib'), XDG_CACHE_HOME: target, HOME: target } }
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}
