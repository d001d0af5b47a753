/** What the page does when the browser closes, deletes or takes away its storage. No service is needed for it. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { strings } from '@svc/console/strings.ts'
import { parseKey } from '@svc/sdk'
import { type Browser, type BrowserContext, type Page, startChromium } from '@svc/test/support/engines/chromium.ts'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { PASSPHRASE, unlock } from './acts.ts'

/** Browsers offer their cryptography for this host. */
const ORIGIN = 'http://localhost'
const SLOW = { timeout: 180_000 }
const PATIENCE_MS = 90_000
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css' }
const { storage, start, settings } = strings

const folder = join((await findTestRun()).build, 'clients/console/built')
let browser: Browser
let profile: BrowserContext

beforeAll(async () => {
  browser = await startChromium()
}, 240_000)
afterAll(() => browser?.close())
afterEach(() => profile?.close())

/** A page whose service never answers. */
async function openConsole(): Promise<Page> {
  const page = await profile.newPage()
  page.on('dialog', (dialog) => void dialog.accept())
  await page.goto(`${ORIGIN}/console`)
  return page
}

/** Makes a key in a new profile of the browser. Its registration cannot be finished. */
async function openWithKey(): Promise<Page> {
  profile = await browser.newContext({ acceptDownloads: true })
  profile.setDefaultTimeout(PATIENCE_MS)
  await profile.route(`${ORIGIN}/**`, async (route) => {
    const { pathname } = new URL(route.request().url())
    if (!pathname.startsWith('/console')) return route.fulfill({ status: 404, body: 'no service' })
    const name = pathname.split('/')[2] ?? 'index.html'
    const contentType = TYPES[name.split('.').at(-1) ?? ''] ?? 'text/plain'
    return route.fulfill({ contentType, body: readFileSync(join(folder, name)) })
  })
  const page = await openConsole()
  await page.getByLabel(start.name, { exact: true }).fill('alice')
  await page.getByLabel(start.passphrase, { exact: true }).fill(PASSPHRASE)
  await page.getByLabel(start.repeat, { exact: true }).fill(PASSPHRASE)
  await page.getByRole('button', { name: start.createButton }).click()
  await page.getByRole('button', { name: start.registerButton, exact: true }).waitFor()
  return page
}

/** Unlocks a page. It has the key if it asks the service about an agent. */
async function unlockWithKey(page: Page): Promise<void> {
  await unlock(page)
  await page.getByRole('heading', { name: start.unnamed }).waitFor()
}

/** What a browser does that needs space. */
async function clearStorage(page: Page): Promise<void> {
  const session = await profile.newCDPSession(page)
  await session.send('Storage.clearDataForOrigin', { origin: ORIGIN, storageTypes: 'indexeddb' })
}

const banner = (page: Page, text: string) => page.getByRole('alert', { name: storage.label }).filter({ hasText: text })
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

test('if the browser deletes the storage, the page says so at once, and stores everything again', SLOW, async () => {
  const page = await openWithKey()
  await clearStorage(page)
  await banner(page, storage.texts.cleared).waitFor()
  await press(page, storage.again)
  await page.getByText(storage.storedAgain).waitFor()
  expect(await banner(page, '').count()).toBe(0)
  await page.reload()
  await unlockWithKey(page)
})

test('a lock does not throw away what only the tab has', SLOW, async () => {
  const page = await openWithKey()
  const second = await openConsole()
  await unlockWithKey(second)
  await clearStorage(page)
  await banner(page, storage.texts.cleared).waitFor()
  await page.evaluate("new BroadcastChannel('svc-console/vault').postMessage({ kind: 'lock' })")
  await banner(page, storage.texts.clearedLocked).waitFor()
  await unlock(page)
  await banner(page, storage.texts.cleared).waitFor()
  await press(page, storage.again)
  // The other tab hears of it, and has nothing to decide any more.
  await banner(second, '').waitFor({ state: 'detached' })
})

test('a wipe in another tab is not undone', SLOW, async () => {
  const page = await openWithKey()
  const second = await openConsole()
  await second.getByRole('button', { name: start.unlock, exact: true }).waitFor()
  await clearStorage(page)
  await banner(page, storage.texts.cleared).waitFor()
  await press(second, start.wipeAll)
  await second.getByRole('dialog').getByRole('textbox').fill(start.wipeAllWord)
  await press(second, start.wipeAllButton)
  await page.getByRole('button', { name: start.createButton }).waitFor()
  expect(await banner(page, '').count()).toBe(0)
})

test('the key is saved only for the passphrase, also after the browser has deleted it', SLOW, async () => {
  const page = await openWithKey()
  await clearStorage(page)
  await press(page, settings.exportKey)
  const dialog = page.getByRole('dialog')
  const passphrase = dialog.getByLabel(start.passphrase, { exact: true })
  await passphrase.fill('a wrong passphrase')
  await dialog.getByRole('button', { name: settings.exportKeyButton }).click()
  await dialog.getByText(strings.vaultErrors.wrong_passphrase).waitFor()
  await dialog.locator('[aria-invalid=true]:focus').waitFor()
  await passphrase.fill(PASSPHRASE)
  const downloading = page.waitForEvent('download')
  await dialog.getByRole('button', { name: settings.exportKeyButton }).click()
  const text = await readFile(await (await downloading).path(), 'utf8')
  expect(parseKey(text).agentId).not.toBe('')
})

test('a page that was locked says why it has nothing to unlock', SLOW, async () => {
  await openWithKey()
  const page = await openConsole()
  await page.getByRole('button', { name: start.unlock, exact: true }).waitFor()
  await clearStorage(page)
  await unlock(page)
  await banner(page, storage.texts.gone).waitFor()
  await page.getByRole('button', { name: start.createButton }).waitFor()
})

test(
  'if the browser does not store something, the page says so, and stores it when the browser does',
  SLOW,
  async () => {
    const page = await openWithKey()
    await page.reload()
    await unlockWithKey(page)
    await page.getByRole('button', { name: strings.agents.add, exact: true }).click()
    await page.getByLabel(start.name, { exact: true }).fill('second')
    await page.evaluate(`{
    const { put } = IDBObjectStore.prototype
    window.heal = () => { IDBObjectStore.prototype.put = put }
    IDBObjectStore.prototype.put = function (...record) {
      const request = put.apply(this, record)
      this.transaction.abort()
      return request
    }
  }`)
    await press(page, start.createButton)
    await banner(page, storage.texts.failed).waitFor()
    await page.locator('form').getByText(strings.vaultErrors.storage_failed).waitFor()
    expect(await page.getByLabel(start.name, { exact: true }).inputValue()).toBe('second')
    await page.evaluate('heal()')
    await press(page, strings.retry)
    await page.getByText(storage.retried).waitFor()
    expect(await banner(page, '').count()).toBe(0)
  },
)

test('a person can give up what the browser has deleted', SLOW, async () => {
  const page = await openWithKey()
  await clearStorage(page)
  await press(page, storage.forget)
  await page.getByRole('dialog').getByRole('textbox').fill(storage.forgetWord)
  await page.getByRole('dialog').getByRole('button', { name: storage.forget, exact: true }).click()
  await page.getByRole('button', { name: start.createButton }).waitFor()
})

test('a newer console in another tab takes the storage over, and the page asks for a reload', SLOW, async () => {
  const page = await openWithKey()
  const other = await openConsole()
  await other.evaluate(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('svc-console', 2)
    opening.onsuccess = resolve
    opening.onerror = reject
  })`)
  await banner(page, storage.texts.newer).waitFor()
  await press(page, storage.reload)
  // This console is still the older one.
  await banner(page, storage.texts.newer).waitFor()
})
