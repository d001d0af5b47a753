/** A headless Firefox for tests of pages, as a second browser beside Chromium. It speaks WebDriver BiDi, a W3C standard. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, launch } from 'puppeteer-core'
import { findTestRun } from './engines.ts'

export type { BrowserContext, Locator, Page } from 'puppeteer-core'

const LIMIT_MS = 90_000
const INSTALLED = ['/usr/bin/firefox-esr', '/usr/bin/firefox', '/Applications/Firefox.app/Contents/MacOS/firefox']

/** @returns why tests in Firefox are skipped here, or undefined if they run. */
export function whyNoFirefox(): string | undefined {
  if (findFirefox() !== undefined) return undefined
  return 'Firefox is not installed (apt-get install firefox-esr, or name its program in SVC_TEST_FIREFOX)'
}

/** Starts Firefox with a profile of its own. Its home is a folder that is deleted with it. */
export async function startFirefox(): Promise<Browser> {
  const executablePath = findFirefox()
  if (executablePath === undefined) throw new Error(whyNoFirefox())
  const home = mkdtempSync(join((await findTestRun()).folder, 'firefox-'))
  const userDataDir = join(home, 'profile')
  mkdirSync(userDataDir)
  try {
    const browser = await launch({
      browser: 'firefox',
      executablePath,
      userDataDir,
      headless: true,
      defaultViewport: { width: 1280, height: 800 },
      timeout: LIMIT_MS,
      protocolTimeout: LIMIT_MS,
      env: { ...process.env, HOME: home, XDG_CACHE_HOME: home, XDG_CONFIG_HOME: home, TMPDIR: home },
    })
    browser.process()?.once('exit', () => rmSync(home, { recursive: true, force: true }))
    return browser
  } catch (error) {
    rmSync(home, { recursive: true, force: true })
    throw error
  }
}

function findFirefox(): string | undefined {
  return process.env.SVC_TEST_FIREFOX ?? INSTALLED.find(existsSync)
}
