/** Watches everything that leaves a page: requests, addresses, the document, the console. */
import type { BrowserContext, Page } from '@svc/test/support/engines/chromium.ts'
import { expect } from 'vitest'
import { findTraces } from './key-traces.ts'

export interface Watcher {
  /** Keys that must never be seen. */
  readonly secrets: Uint8Array[]
  /** Faults of the pages, and violations of their policy. */
  readonly complaints: string[]
  watch(context: BrowserContext): Promise<void>
  /** Reads the document of a page, hidden parts and values of fields included. */
  look(page: Page): Promise<void>
  /** Fails if one of the secrets was ever seen. */
  check(): void
}

/** Chromium itself writes these when a request is refused, the network is cut, or the address is insecure. */
const EXPECTED = new RegExp(
  [
    '^error: Failed to load resource: the server responded with a status of (?:401|404|409|429|503)',
    '^error: Failed to load resource: net::',
    '^error: The Cross-Origin-Opener-Policy header has been ignored, because the URL.s origin was untrustworthy',
  ].join('|'),
)

/** Everything that the page stores, bytes as lists of numbers. The vault may hold a key only in encrypted form. */
const STORAGE = `(async () => {
  const result = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const found = [{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state]
  for (const { name } of await indexedDB.databases()) {
    const database = await result(indexedDB.open(name))
    const stores = database.transaction([...database.objectStoreNames])
    for (const store of database.objectStoreNames) found.push(await result(stores.objectStore(store).getAll()))
    database.close()
  }
  return JSON.stringify(found, (_, value) => (value instanceof Uint8Array ? [...value] : value))
})()`

export function createWatcher(): Watcher {
  const secrets: Uint8Array[] = []
  const seen = new Map<string, string>()
  const complaints: string[] = []
  const note = (where: string, text: string): void => {
    seen.set(`${where} ${seen.size}`, text)
  }

  return {
    secrets,
    complaints,
    async watch(context) {
      await context.addInitScript(
        "addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample))",
      )
      context.on('request', async (request) => {
        const headers = await request.allHeaders().catch(() => ({}))
        note('request', `${request.url()} ${JSON.stringify(headers)} ${request.postData() ?? ''}`)
      })
      context.on('console', (message) => {
        note('console', message.text())
        const said = `${message.type()}: ${message.text()}`
        if (/^(?:error|warning)/.test(said) && !EXPECTED.test(said)) complaints.push(said)
      })
      context.on('weberror', (error) => {
        note('error', String(error.error().stack))
        complaints.push(String(error.error()))
      })
    },
    async look(page) {
      const fields = '[...document.querySelectorAll("input, textarea")].map((field) => field.value).join("\\n")'
      note('address', page.url())
      note('document', (await page.content()) + (await page.evaluate<string>(`document.title + ${fields}`)))
      note('storage', await page.evaluate<string>(STORAGE))
    },
    check() {
      expect(secrets.length).toBeGreaterThan(0)
      expect(seen.size).toBeGreaterThan(0)
      for (const [where, text] of seen) expect(findTraces(text, secrets), where).toEqual([])
    },
  }
}
