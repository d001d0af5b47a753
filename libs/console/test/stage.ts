/** One system with two gateways and one browser, for all tests of the console. */
import { loadConsole } from '@svc/console/build/files.ts'
import { type Browser, type BrowserContext, type Page, startChromium } from '@svc/test/support/engines/chromium.ts'
import { ONE_OF_EACH, startUnwatched, type TestSystem } from '@svc/test/support/system/system.ts'
import { createWatcher, type Watcher } from './watcher.ts'

export interface Stage extends AsyncDisposable {
  readonly system: TestSystem
  readonly watcher: Watcher
  /** A profile of its own: storage, and tabs that share it. */
  openProfile(options?: Parameters<Browser['newContext']>[0]): Promise<BrowserContext>
  /** Opens the console of a gateway. @param gateway 0 or 1. */
  openConsole(profile: BrowserContext, gateway: number): Promise<Page>
}

/** A slow machine derives a key for some seconds. */
const PATIENCE_MS = 90_000
/** The tests send a hundred messages, which is more than the default daily allowance. */
const PLENTY = { SVC_DAILY_FREE_UNITS: '100000', SVC_DAILY_HARD_LIMIT: '100000', SVC_DAILY_INTRODUCTIONS: '1000' }

export async function startStage(): Promise<Stage> {
  await using started = new AsyncDisposableStack()
  const [system, browser] = await Promise.all([
    startUnwatched({ replicas: { ...ONE_OF_EACH, gateway: 2 }, env: PLENTY }),
    startChromium(),
    loadConsole(), // so that no gateway builds it while a test waits
  ])
  started.use(system)
  started.defer(() => browser.close())
  const watcher = createWatcher()
  const running = started.move()
  return {
    system,
    watcher,
    async openProfile(options) {
      const profile = await browser.newContext({ acceptDownloads: true, ...options })
      profile.setDefaultTimeout(PATIENCE_MS)
      await watcher.watch(profile)
      return profile
    },
    async openConsole(profile, gateway) {
      const page = await profile.newPage()
      await page.goto(`${system.urls[gateway]}/console`)
      return page
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
