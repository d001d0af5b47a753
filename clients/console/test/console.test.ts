/**
 * The console in Chromium, through a system with two gateways. One system and one browser serve all tests, which build on each
 * other: alice lives in one profile of the browser and on one gateway, bob in another profile and on the other gateway.
 */
import { strings } from '@svc/console/strings.ts'
import { AgentClient, type AgentKey, formatKey, generateKey } from '@svc/sdk'
import type { BrowserContext, Locator, Page } from '@svc/test/support/engines/chromium.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest'
import { findBarriers } from './accessibility.ts'
import * as acts from './acts.ts'
import { type Stage, startStage } from './stage.ts'

/** Only a step that hangs takes this long. Each action ends much sooner (stage.ts). */
const SLOW = { timeout: 180_000 }
const HOSTILE = [
  ['markup', '<img src=x onerror=alert(1)><script>alert(1)</script><b>bold</b>'],
  ['bidirectional controls', 'abc \u202e\u2067 evil \u202c\u2069 <- reversed'],
  ['a very long word', 'w'.repeat(3_000)],
  ['look-alike badges', `${strings.badges.pinned}  ${strings.badges.sealed}`],
] as const

let stage: Stage
let [alices, bobs]: BrowserContext[] = []
let [alice, bob]: Page[] = []
/** Writes to both from outside the browser. */
let carol: AgentClient
const bobsKey = generateKey()
let alicesKey: AgentKey | undefined

beforeAll(async () => {
  stage = await startStage()
  ;[alices, bobs] = [await stage.openProfile(), await stage.openProfile({ colorScheme: 'dark' })]
  carol = new AgentClient({ url: stage.system.urls[0] ?? '', key: generateKey() })
  const registering = new AgentClient({ url: stage.system.urls[1] ?? '', key: bobsKey })
  await Promise.all([carol.register('carol'), registering.register('bob')])
  await carol.updateSettings({ discoverable: true })
  stage.watcher.secrets.push(bobsKey.secretKey)
}, 240_000)
afterAll(() => stage?.[Symbol.asyncDispose]())

let failed: string | undefined
beforeEach(({ task }) => {
  if (failed !== undefined) expect.fail(`a test before this one failed: ${failed}`)
  onTestFailed(() => {
    failed = task.name
  })
})

/** The window of a test that needs the ones before it. */
function windowOf(page: Page | undefined): Page {
  return page ?? expect.fail('the window was not opened')
}

async function checkScreen(page: Page): Promise<void> {
  await stage.watcher.look(page)
  expect(await findBarriers(page)).toEqual([])
  expect(
    await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
    'the page scrolls sideways',
  ).toBe(true)
}

const rowsOf = (page: Page, lane: 'inbox' | 'requests'): Locator =>
  page.getByRole('listbox', { name: strings.pages[lane] }).getByRole('option')

/** Opens both streams that bob may have. @returns a function that ends them. */
async function holdStreams(): Promise<() => void> {
  const client = new AgentClient({ url: stage.system.urls[0] ?? '', key: bobsKey })
  const held = new AbortController()
  const hold = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const stream = client.stream({ after: 'end', signal: held.signal, onOpen: () => resolve() })
      stream.next().catch(reject)
    })
  await Promise.all([hold(), hold()])
  return () => held.abort()
}

describe('two windows', () => {
  test(
    'over plain HTTP on a host other than localhost the page says that it needs HTTPS, and stops',
    SLOW,
    async () => {
      const page = await stage.openInsecure(alices as BrowserContext)
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.reload()
      await page.getByRole('heading', { name: strings.insecure.title }).waitFor()
      await checkScreen(page)
      expect(await page.locator('button, input, a').count()).toBe(0)
      expect(asked.filter((url) => url.includes('/v2/'))).toEqual([])
      await page.close()
    },
  )

  test('one makes a key, cancels the proof of work, and then registers', SLOW, async () => {
    alice = await stage.openConsole(alices as BrowserContext, 0)
    await alice.getByRole('button', { name: strings.start.createButton }).waitFor()
    await checkScreen(alice)
    const resume = await stage.suspendWork(alice, 0.25)
    await acts.createAgent(alice, 'alice')
    await alice.getByText(strings.start.registering('alice')).waitFor()
    await alice.locator('progress[value="25"]').waitFor()
    await checkScreen(alice)
    await alice.getByRole('button', { name: strings.cancel, exact: true }).click()
    await eventually(() => expect(alice?.workers()).toEqual([]))
    await resume()
    await alice.getByRole('button', { name: strings.start.registerButton, exact: true }).click()
    await acts.waitForInbox(alice)
    await acts.waitForState(alice, 'live')
    const key = await acts.exportKey(alice)
    alicesKey = key
    expect(await carol.lookup('alice')).toMatchObject({ agent_id: key.agentId })
    stage.watcher.secrets.push(key.secretKey)
  })

  test('the other drops a key file of the CLI on the page', SLOW, async () => {
    bob = await stage.openConsole(bobs as BrowserContext, 1)
    const file = `${formatKey(bobsKey)}\n`
    await bob.getByRole('button', { name: strings.start.createButton }).waitFor()
    await acts.dropFile(bob, file)
    await bob.getByText(strings.start.imported).waitFor()
    await acts.chooseKeyFile(bob, 'not a key')
    await bob.getByText(strings.start.notAKey).waitFor()
    expect(await bob.getByRole('button', { name: strings.start.importButton }).isDisabled()).toBe(true)
    await acts.dropFile(bob, file)
    await checkScreen(bob)
    await acts.finishImport(bob)
    await acts.waitForState(bob, 'live')
  })

  test('a sealed message arrives as a request, is accepted, and is answered to the inbox', SLOW, async () => {
    const [from, to] = [windowOf(alice), windowOf(bob)]
    await acts.sendSealed(from, 'Bob', 'for bob alone')
    const request = await acts.openMessage(to, 'requests', 'for bob alone')
    await request.getByRole('group', { name: strings.badges.label }).getByText(strings.badges.sealed).waitFor()
    await request.getByRole('group', { name: strings.badges.label }).getByText(strings.badges.directory).waitFor()
    // The message names its sender by address, so nobody has to be asked who it is.
    await request.getByRole('heading', { name: /^alice/ }).waitFor()
    expect(await request.getByText(strings.identify.title).count()).toBe(0)
    await checkScreen(to)
    await acts.acceptRequest(to)
    expect(await acts.reply(to, 'an answer from bob')).toBe(strings.sent.to(`alice@${stage.system.authority}`))
    const answer = await acts.openMessage(from, 'inbox', 'an answer from bob')
    await answer.getByText('an answer from bob').waitFor()
    // A sent message is sealed for its recipient, so its sender reads the copy that the browser kept.
    await acts.goTo(from, 'sent')
    await from.getByText('for bob alone').first().waitFor()
    await checkScreen(from)
  })

  test('a recipient that was accepted with a message is listed, and can be taken back', SLOW, async () => {
    const page = windowOf(alice)
    await page.reload()
    await acts.unlock(page)
    await acts.goTo(page, 'write')
    const offer = page.getByLabel(strings.write.acceptReplies, { exact: true })
    await page.getByLabel(strings.write.to, { exact: true }).fill('carol')
    await page.getByText(strings.write.costWithContact(1, 1)).waitFor()
    expect(await offer.isChecked()).toBe(true)
    await page.getByLabel(strings.write.to, { exact: true }).fill('bob')
    await offer.waitFor({ state: 'detached' })
    await acts.goTo(page, 'contacts')
    await page.getByText(strings.contacts.byMessage).waitFor()
    await checkScreen(page)
    await acts.takeBack(page, 'bob')
    const client = new AgentClient({
      url: stage.system.urls[0] ?? '',
      key: alicesKey ?? expect.fail('there is no key'),
    })
    expect((await client.contacts().page()).items).toEqual([])
    await client.setContact('bob', 'accepted')
  })

  test('a recipient that does not exist gives one error, sealed or not', SLOW, async () => {
    const page = windowOf(alice)
    const problem = strings.write.noRecipient('bobb')
    expect(await acts.sendToNobody(page, 'bobb', true)).toBe(problem)
    expect(await acts.sendToNobody(page, 'bobb', false)).toBe(problem)
  })

  test('an envelope without an answer outlives a reload, and is sent again as it was', SLOW, async () => {
    const [from, to] = [windowOf(alice), windowOf(bob)]
    const envelopes: (string | null)[] = []
    await from.route('**/v2/messages', async (route) => {
      envelopes.push(route.request().postData())
      const response = await route.fetch()
      // The service accepts the first request, and its answer is lost on the way.
      await route.fulfill(envelopes.length === 1 ? { body: 'a proxy answers' } : { response })
    })
    await acts.sendSealed(from, 'bob', 'sent twice, delivered once')
    await from.reload()
    await acts.unlock(from)
    await acts.goTo(from, 'sent')
    await from.getByText(strings.sent.states.unknown).waitFor()
    await checkScreen(from)
    const again = from.getByRole('button', { name: strings.sent.retry, exact: true })
    await again.click()
    await again.waitFor({ state: 'detached' })
    await from.unroute('**/v2/messages')
    expect(envelopes).toHaveLength(2)
    expect(envelopes[1]).toBe(envelopes[0])
    await acts.openMessage(to, 'inbox', 'sent twice, delivered once')
    expect(await rowsOf(to, 'inbox').filter({ hasText: 'sent twice' }).count()).toBe(1)
  })

  test('a board is moderated', SLOW, async () => {
    const [owner, guest] = [windowOf(alice), windowOf(bob)]
    const id = await acts.createBoard(owner, 'Releases')
    await acts.openBoard(guest, id)
    await acts.post(guest, 'a post to be hidden')
    await owner.reload()
    await acts.unlock(owner)
    await acts.openBoard(owner, id)
    const post = acts.feedOf(owner).getByRole('article').filter({ hasText: 'a post to be hidden' })
    await post.getByRole('button', { name: strings.boards.hide, exact: true }).click()
    await post.waitFor({ state: 'detached' })
    await checkScreen(owner)
    await acts.goTo(guest, 'inbox')
    await acts.openBoard(guest, id)
    await guest.getByText(strings.boards.noPosts).waitFor()
    await checkScreen(guest)
    await owner.getByText(strings.boards.hiddenTitle).click()
    await owner.getByRole('button', { name: new RegExp(`^${strings.boards.restore}: `) }).click()
    await acts.feedOf(owner).getByText('a post to be hidden').waitFor()
  })

  test.each(['drafts', 'write', 'contacts', 'settings'] as const)(
    'the page %s has no barrier, at the width of a phone too',
    SLOW,
    async (name) => {
      const page = windowOf(bob)
      await acts.goTo(page, name)
      await checkScreen(page)
      await page.setViewportSize({ width: 360, height: 740 })
      await checkScreen(page)
      await page.setViewportSize({ width: 1280, height: 720 })
    },
  )
})

test('a second agent in the same browser begins in its own inbox, and a lock ends its notices', SLOW, async () => {
  const page = windowOf(alice)
  const chooser = page.getByRole('button', { name: new RegExp(`^${strings.agents.open}`) })
  await acts.goTo(page, 'settings')
  await chooser.click()
  await page.getByRole('button', { name: strings.agents.add, exact: true }).click()
  await page.getByLabel(strings.start.name, { exact: true }).fill('Second Agent')
  await page.getByRole('button', { name: strings.start.createButton, exact: true }).click()
  await acts.waitForInbox(page)
  await chooser.filter({ hasText: 'second-agent' }).click()
  await checkScreen(page)
  await page.getByRole('dialog').getByRole('button').filter({ hasText: 'alice' }).click()
  await chooser.filter({ hasText: 'alice' }).waitFor()
  const advice = page.getByText(strings.start.exportAdvice)
  await advice.waitFor()
  await page.getByRole('button', { name: strings.agents.lock, exact: true }).click()
  await advice.waitFor({ state: 'detached' })
  await acts.unlock(page)
  await acts.waitForState(page, 'live')
})

describe('hostile messages', () => {
  test.each(HOSTILE)('%s: it stays text, inside its box', SLOW, async (what, text) => {
    const page = windowOf(bob)
    if (what === HOSTILE[0][0]) {
      const client = new AgentClient({ url: stage.system.urls[0] ?? '', key: bobsKey })
      await client.setContact(carol.key?.agentId ?? '', 'accepted')
    }
    await carol.send({ to: 'bob', body: `${what}: ${text}` })
    const message = await acts.openMessage(page, 'inbox', `${what}:`)
    const box = message.getByRole('group', { name: new RegExp(`^${strings.mail.body('')}`) })
    await box.getByText(`${what}:`).waitFor()
    expect(await box.locator('img, script, b, a, iframe').count()).toBe(0)
    // A badge of the console is outside the box. The text of the message adds none.
    const badges = await message.getByRole('group', { name: strings.badges.label }).first().textContent()
    expect(badges).not.toContain(strings.badges.pinned)
    expect(badges).not.toContain(strings.badges.sealed)
    await checkScreen(page)
  })

  test('the title and the description of a board stay text', SLOW, async () => {
    const page = windowOf(bob)
    const [, markup] = HOSTILE[0]
    const [, controls] = HOSTILE[1]
    await carol.createBoard({
      posting: 'members',
      title: `${markup.slice(0, 60)} ${controls}`,
      description: markup,
      visibility: 'public',
    })
    await acts.goTo(page, 'inbox')
    await acts.goTo(page, 'boards')
    await page.getByRole('link').filter({ hasText: '<img src=x' }).click()
    await page.getByRole('heading', { level: 2 }).filter({ hasText: '<img src=x' }).waitFor()
    expect(await page.locator('main').locator('img, script, b, iframe').count()).toBe(0)
    await checkScreen(page)
  })
})

describe('lock', () => {
  test('a reload locks; a wrong passphrase opens nothing, the right one everything', SLOW, async () => {
    const page = windowOf(bob)
    await page.reload()
    await acts.unlock(page, 'a wrong passphrase')
    await page.getByLabel(strings.start.passphrase, { exact: true }).and(page.locator('[aria-invalid=true]')).waitFor()
    await checkScreen(page)
    await acts.unlock(page)
    await acts.goTo(page, 'inbox')
    await rowsOf(page, 'inbox').filter({ hasText: 'for bob alone' }).waitFor()
  })

  test('one lock locks all tabs, and a tab that ends hands its stream over', SLOW, async () => {
    const [first, profile] = [windowOf(bob), bobs as BrowserContext]
    const streams: string[] = []
    profile.on('request', (request) => request.url().includes('/v2/stream') && streams.push(request.url()))
    const second = await stage.openConsole(profile, 1)
    await acts.unlock(second)
    await acts.waitForState(second, 'live')
    expect(streams).toEqual([])
    await first.close()
    await eventually(() => expect(streams).toHaveLength(1))
    await carol.send({ to: 'bob', body: 'after the first tab ended' })
    await rowsOf(second, 'inbox').filter({ hasText: 'after the first tab ended' }).waitFor()
    bob = await stage.openConsole(profile, 1)
    await acts.unlock(bob)
    await acts.waitForState(bob, 'live')
    await bob.getByRole('button', { name: strings.agents.lock, exact: true }).click()
    await second.getByRole('button', { name: strings.start.unlock, exact: true }).waitFor()
    await second.close()
    await acts.unlock(bob)
    await acts.waitForState(bob, 'live')
  })
})

describe('faults', () => {
  test('a network that is cut for ten seconds loses no message', SLOW, async () => {
    const [page, profile] = [windowOf(bob), bobs as BrowserContext]
    await profile.setOffline(true)
    await acts.waitForState(page, 'offline')
    await carol.send({ to: 'bob', body: 'sent while offline' })
    await new Promise((resolve) => setTimeout(resolve, 10_000))
    expect(await rowsOf(page, 'inbox').filter({ hasText: 'sent while offline' }).count()).toBe(0)
    await profile.setOffline(false)
    await rowsOf(page, 'inbox').filter({ hasText: 'sent while offline' }).waitFor()
    await acts.waitForState(page, 'live')
  })

  test('while other programs hold both streams, the page polls and says so', SLOW, async () => {
    const [page, profile] = [windowOf(bob), bobs as BrowserContext]
    await profile.setOffline(true)
    await acts.waitForState(page, 'offline')
    const release = await holdStreams()
    await profile.setOffline(false)
    await acts.waitForState(page, 'polling')
    await carol.send({ to: 'bob', body: 'sent while polling' })
    await rowsOf(page, 'inbox').filter({ hasText: 'sent while polling' }).waitFor()
    await acts.waitForState(page, 'polling')
    release()
    await acts.waitForState(page, 'live')
  })

  test('a gateway that is killed loses no message', SLOW, async () => {
    const page = windowOf(bob)
    await stage.system.kill('gateway-2')
    await acts.waitForState(page, 'offline')
    await carol.send({ to: 'bob', body: 'sent while the gateway was away' })
    await stage.system.start('gateway-2')
    await rowsOf(page, 'inbox').filter({ hasText: 'sent while the gateway was away' }).waitFor()
    await acts.waitForState(page, 'live')
  })
})

test('no key was seen in a request, an address, a document or the console, and nothing complained', async () => {
  for (const page of [windowOf(alice), windowOf(bob)]) await stage.watcher.look(page)
  stage.watcher.check()
  expect(stage.watcher.complaints).toEqual([])
})
