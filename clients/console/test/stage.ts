/** One system with two gateways and one browser, for all tests of the console. */
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
  /** Opens the console by an address for which browsers do not offer their cryptography. */
  openInsecure(profile: BrowserContext): Promise<Page>
  /** Stops proofs of work at a share of their usual effort. @returns a function that ends this. */
  suspendWork(page: Page, share: number): Promise<() => Promise<void>>
}

const INSECURE = 'http://console.test'
const WORKER = '**/console/worker-*.js'
/** A slow machine derives a key for some seconds. */
const PATIENCE_MS = 90_000
/** The tests send a hundred messages, which is more than the default daily allowance. */
const PLENTY = { SVC_DAILY_FREE_UNITS: '100000', SVC_DAILY_HARD_LIMIT: '100000', SVC_DAILY_INTRODUCTIONS: '1000' }

export async function startStage(): Promise<Stage> {
  await using started = new AsyncDisposableStack()
  const [system, browser] = await Promise.all([
    startUnwatched({ replicas: { ...ONE_OF_EACH, gateway: 2 }, env: PLENTY }),
    startChromium(),
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
    async openInsecure(profile) {
      const page = await profile.newPage()
      await page.route(`${INSECURE}/**`, async (route) => {
        const url = route
          .request()
          .url()
          .replace(INSECURE, system.urls[0] ?? '')
        await route.fulfill({ response: await route.fetch({ url }) })
      })
      await page.goto(`${INSECURE}/console`)
      return page
    },
    async suspendWork(page, share) {
      const progress = { kind: 'progress', progress: { hashes: share, expectedHashes: 1 } }
      const stop = `addEventListener('message', (event) => {
        if (event.data.kind !== 'solve') return
        event.stopImmediatePropagation()
        postMessage(${JSON.stringify(progress)})
      })`
      await page.route(WORKER, async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, body: `${stop};${await response.text()}` })
      })
      return () => page.unroute(WORKER)
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
