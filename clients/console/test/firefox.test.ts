/** The main path in Firefox: two agents in two profiles exchange sealed messages. All else is tested in Chromium. */
import { strings } from '@svc/console/strings.ts'
import {
  type BrowserContext,
  type Locator,
  type Page,
  startFirefox,
  whyNoFirefox,
} from '@svc/test/support/engines/firefox.ts'
import { lacks } from '@svc/test/support/run/lacks.ts'
import { ONE_OF_EACH, startUnwatched } from '@svc/test/support/system/system.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PASSPHRASE } from './acts.ts'

const { start, pages, write, requests, mail, badges } = strings
/** A slow machine derives a key for some seconds. */
const PATIENCE_MS = 90_000
const SLOW = { timeout: 300_000 }
const REPORT_VIOLATIONS =
  "addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.sample))"

describe.skipIf(lacks(whyNoFirefox()))('in Firefox', () => {
  const stack = new AsyncDisposableStack()
  const complaints: string[] = []
  let url: string
  let alice: Page
  let bob: Page

  beforeAll(async () => {
    const system = stack.use(await startUnwatched({ replicas: ONE_OF_EACH }))
    url = `${system.urls[0]}/console`
    const firefox = await startFirefox()
    stack.defer(() => firefox.close())
    alice = await openConsole(await firefox.createBrowserContext())
    bob = await openConsole(await firefox.createBrowserContext())
  }, 240_000)
  afterAll(() => stack.disposeAsync())

  async function openConsole(profile: BrowserContext): Promise<Page> {
    // Each page has its own window, because Firefox draws no frames for a tab in the background.
    const page = await profile.newPage({ type: 'window' })
    page.setDefaultTimeout(PATIENCE_MS)
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('console', (message) => {
      if (['error', 'warn'].includes(message.type())) complaints.push(message.text())
    })
    await page.evaluateOnNewDocument(REPORT_VIOLATIONS)
    await page.goto(url)
    return page
  }

  test('two agents are made, exchange sealed messages, and read them again after a reload', SLOW, async () => {
    for (const [page, name] of [
      [alice, 'alice'],
      [bob, 'bob'],
    ] as const)
      await createAgent(page, name)

    await link(alice, pages.write).click()
    await field(alice, write.to).fill('bob')
    await field(alice, write.text).fill('for bob alone')
    await button(alice, write.send).click()
    await textIn(alice, 'group', mail.bodyOwn, 'for bob alone').wait()

    await link(bob, pages.requests).click()
    await textIn(bob, 'listbox', pages.requests, 'for bob alone').click()
    await textIn(bob, 'group', mail.body('alice'), 'for bob alone').wait()
    await textIn(bob, 'group', badges.label, badges.sealed).wait()
    await textIn(bob, 'group', badges.label, badges.directory).wait()
    await button(bob, requests.accept).click()
    await byRole(bob, 'heading', pages.inbox).wait()
    await field(bob, write.messageTo('alice')).fill('an answer from bob')
    await button(bob, write.send).click()

    await textIn(alice, 'group', mail.body('bob'), 'an answer from bob').wait()
    await alice.reload()
    await field(alice, start.passphrase).fill(PASSPHRASE)
    await button(alice, start.unlock).click()
    await textIn(alice, 'group', mail.body('bob'), 'an answer from bob').wait()
    await textIn(alice, 'group', mail.bodyOwn, 'for bob alone').wait()
    expect(complaints).toEqual([])
  })
})

async function createAgent(page: Page, name: string): Promise<void> {
  await field(page, start.name).fill(name)
  await field(page, start.passphrase).fill(PASSPHRASE)
  await field(page, start.repeat).fill(PASSPHRASE)
  await button(page, start.createButton).click()
  await byRole(page, 'heading', pages.inbox).wait()
}

function byRole(page: Page, role: string, name: string): Locator<unknown> {
  return page.locator(`::-p-aria([role="${role}"][name="${name}"])`)
}

function textIn(page: Page, role: string, name: string, text: string): Locator<unknown> {
  return page.locator(`::-p-aria([role="${role}"][name="${name}"]) ::-p-text(${text})`)
}

function button(page: Page, name: string): Locator<unknown> {
  return byRole(page, 'button', name)
}

/** A link may end with a count. */
function link(page: Page, name: string): Locator<unknown> {
  return page.locator(`xpath///a[starts-with(normalize-space(), "${name}")]`)
}

/** By its label, because a field for passphrases has no role. @param label how the label begins. */
function field(page: Page, label: string): Locator<unknown> {
  return page.locator(`xpath///*[@id = //label[starts-with(., "${label}")]/@for]`)
}
