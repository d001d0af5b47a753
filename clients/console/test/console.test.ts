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
import * as keyboard from './keyboard.ts'
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

  test('a sealed message arrives as a request, is accepted, and is answered in its conversation', SLOW, async () => {
    const [from, to] = [windowOf(alice), windowOf(bob)]
    await acts.sendSealed(from, 'Bob', 'for bob alone')
    await acts.turn(from, 'for bob alone').getByText(strings.turns.own.waits).waitFor()
    await to.getByText(`1 ${strings.mail.unread}`).first().waitFor()
    const request = await acts.openMessage(to, 'requests', { from: 'alice', text: 'for bob alone' })
    await request.getByRole('group', { name: strings.badges.label }).getByText(strings.badges.sealed).waitFor()
    await request.getByRole('group', { name: strings.badges.label }).getByText(strings.badges.directory).waitFor()
    // The message names its sender by address, so nobody has to be asked who it is.
    expect(await to.getByText(strings.identify.title).count()).toBe(0)
    await checkScreen(to)
    await acts.acceptRequest(to)
    await acts.turn(to, 'for bob alone').getByText(strings.turns.received.accepted).waitFor()
    await acts.reply(to, 'an answer from bob')
    // The page of the sender says by itself that its request was accepted.
    await acts.turn(from, 'an answer from bob').waitFor()
    await acts.turn(from, 'for bob alone').getByText(strings.turns.own.accepted).waitFor()
    await to.getByRole('button', { name: strings.mail.acknowledge, exact: true }).click()
    await acts.goTo(from, 'contacts')
    await acts.openConversation(from, 'inbox', 'bob')
    await acts.turn(from, 'for bob alone').getByText(strings.turns.own.acknowledged).waitFor()
    await checkScreen(from)
  })

  test('a request and its response are shown as a pair, and a person answers it as a response', SLOW, async () => {
    const page = windowOf(bob)
    const client = new AgentClient({ url: stage.system.urls[0] ?? '', key: bobsKey })
    await client.setContact(carol.key?.agentId ?? '', 'accepted')
    await carol.setContact('bob', 'accepted')
    const sent = await carol.send({ to: 'bob', body: { question: 'how many?' }, type: 'request' })
    const request = await acts.openMessage(page, 'inbox', { from: 'carol', text: 'how many?' })
    await request.getByText(strings.turns.unanswered).waitFor()
    await acts.reply(page, 'seven')
    await request.getByText(strings.turns.answered, { exact: true }).waitFor()
    await acts.turn(page, 'seven').getByText(strings.turns.kinds.response).waitFor()
    await checkScreen(page)
    const { items } = await carol.inbox({ lane: 'inbox' }).page()
    expect(items.map(({ envelope }) => envelope)).toMatchObject([{ type: 'response', reply_to: sent.msg_id }])
  })

  test('a recipient that was accepted with a message is listed, and can be taken back', SLOW, async () => {
    const page = windowOf(alice)
    await page.reload()
    await acts.unlock(page)
    await acts.goTo(page, 'write')
    const offer = page.getByLabel(strings.write.acceptReplies('carol'), { exact: true })
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

  test('an envelope without an answer waits, outlives a reload, and goes by itself as it was', SLOW, async () => {
    const [from, to] = [windowOf(alice), windowOf(bob)]
    const envelopes: (string | null)[] = []
    let isAway = true
    await from.route('**/v2/messages', async (route) => {
      envelopes.push(route.request().postData())
      const response = await route.fetch()
      // The service accepts the first request, and its answer is lost on the way.
      await route.fulfill(isAway ? { body: 'a proxy answers' } : { response })
    })
    await acts.sendSealed(from, 'bob', 'sent twice, delivered once')
    const waiting = acts.turn(from, 'sent twice, delivered once')
    await waiting.getByText(strings.turns.waitsSince('').trim()).waitFor()
    await checkScreen(from)
    await from.reload()
    await acts.unlock(from)
    isAway = false
    await waiting.getByText(strings.turns.own.delivered, { exact: true }).waitFor()
    await from.unroute('**/v2/messages')
    expect(new Set(envelopes).size).toBe(1)
    await acts.openConversation(to, 'inbox', 'alice')
    expect(await acts.turn(to, 'sent twice').count()).toBe(1)
  })

  test('a message that waits is cancelled, and is a draft again', SLOW, async () => {
    const page = windowOf(alice)
    await page.route('**/v2/messages', (route) => route.abort())
    await acts.openConversation(page, 'inbox', 'bob')
    const form = page.getByRole('form', { name: strings.write.replying })
    await form.getByRole('textbox').fill('better not')
    await form.getByRole('textbox').press('Control+Enter')
    const waiting = acts.turn(page, 'better not')
    await waiting.getByRole('button', { name: strings.turns.cancel, exact: true }).click()
    await waiting.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: strings.turns.editDraft, exact: true }).click()
    expect(await page.getByLabel(strings.write.text, { exact: true }).inputValue()).toBe('better not')
    await page.getByRole('button', { name: strings.write.discard, exact: true }).click()
    await page.unroute('**/v2/messages')
  })

  test('a board is moderated', SLOW, async () => {
    const [owner, guest] = [windowOf(alice), windowOf(bob)]
    const id = await acts.createBoard(owner, 'Releases')
    await acts.openBoard(guest, id)
    await acts.post(guest, 'a post to be hidden')
    const post = acts.feedOf(owner).getByRole('article').filter({ hasText: 'a post to be hidden' })
    await post.getByRole('button', { name: strings.boards.hide, exact: true }).click()
    await post.waitFor({ state: 'detached' })
    await checkScreen(owner)
    await acts.goTo(guest, 'inbox')
    await acts.openBoard(guest, id)
    await guest.getByText(strings.boards.noPosts).waitFor()
    await checkScreen(guest)
    await owner.locator('summary').filter({ hasText: strings.boards.hiddenTitle }).click()
    await owner.getByRole('button', { name: new RegExp(`^${strings.boards.restore}: `) }).click()
    await acts.feedOf(owner).getByText('a post to be hidden').waitFor()
  })

  test.each(['inbox', 'drafts', 'write', 'contacts', 'settings'] as const)(
    'the page %s has no barrier, at the widths of a phone and at 200% of a small screen too',
    SLOW,
    async (name) => {
      const page = windowOf(bob)
      await acts.goTo(page, name)
      await checkScreen(page)
      for (const [width, height] of [
        [390, 780],
        [320, 640],
        [640, 360],
      ] as const) {
        await page.setViewportSize({ width, height })
        await checkScreen(page)
      }
      await page.setViewportSize({ width: 1280, height: 720 })
    },
  )
})

test('a second agent in the same browser begins in its own inbox, and is reminded of its key', SLOW, async () => {
  const page = windowOf(alice)
  const chooser = page.getByRole('button', { name: new RegExp(`^${strings.agents.open}`) })
  await acts.goTo(page, 'settings')
  await chooser.click()
  await page.getByRole('button', { name: strings.agents.add, exact: true }).click()
  await page.getByLabel(strings.start.name, { exact: true }).fill('Second Agent')
  await page.getByRole('button', { name: strings.start.createButton, exact: true }).click()
  await acts.waitForInbox(page)
  await page.getByRole('region', { name: strings.keyReminder.label }).waitFor()
  await chooser.filter({ hasText: 'second-agent' }).click()
  await checkScreen(page)
  await page.getByRole('dialog').getByRole('button').filter({ hasText: 'alice' }).click()
  await chooser.filter({ hasText: 'alice' }).waitFor()
  // The key of the first agent was saved, that of the second was not.
  const reminder = page.getByRole('region', { name: strings.keyReminder.label })
  expect(await reminder.count()).toBe(0)
  await page.getByRole('button', { name: strings.agents.lock, exact: true }).click()
  await acts.unlock(page)
  await acts.waitForState(page, 'live')
})

test('the main path by keyboard alone, with a focus that is seen', SLOW, async () => {
  const profile = await stage.openProfile()
  const page = await stage.openConsole(profile, 0)
  await keyboard.createAgent(page, 'dora')
  const client = new AgentClient({ url: stage.system.urls[0] ?? '', key: generateKey() })
  await client.register('eric')
  await client.send({ to: 'dora', body: 'are you there?' }, { acceptReplies: true })
  await keyboard.acceptAndAnswer(page, 'yes, by keyboard')
  await keyboard.write(page, 'carol', 'a message by keyboard')
  await page.keyboard.press('Escape')
  await keyboard.search(page, 'are you there')
  await keyboard.showShortcuts(page)
  await keyboard.lockAndUnlock(page)
  expect((await client.inbox().page()).items).toHaveLength(1)
  await checkScreen(page)
  await profile.close()
})

describe('hostile messages', () => {
  test.each(HOSTILE)('%s: it stays text, inside its box', SLOW, async (what, text) => {
    const page = windowOf(bob)
    await carol.send({ to: 'bob', body: `${what}: ${text}` })
    const message = await acts.openMessage(page, 'inbox', { from: 'carol', text: `${what}:` })
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
    await acts.openMessage(page, 'inbox', { from: 'alice', text: 'for bob alone' })
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
  test('while every call fails, the page says so, keeps what is written, and sends it afterwards', SLOW, async () => {
    const page = windowOf(bob)
    await acts.openConversation(page, 'inbox', 'alice')
    // The stream that is open already goes on.
    await page.route('**/v2/**', (route) => route.fulfill({ status: 503, body: 'no server' }))
    const form = page.getByRole('form', { name: strings.write.replying })
    await form.getByRole('textbox').fill('written in an outage')
    await form.getByRole('textbox').press('Control+Enter')
    await page.getByText(strings.health.safe).waitFor()
    await acts.waitForState(page, 'offline')
    await acts.turn(page, 'written in an outage').getByText(strings.turns.waitsSince('').trim()).waitFor()
    await acts.goTo(page, 'write')
    await page.getByLabel(strings.write.text, { exact: true }).fill('a draft of the outage')
    await checkScreen(page)
    await page.unroute('**/v2/**')
    await page.getByText(strings.health.safe).waitFor({ state: 'detached' })
    await acts.goTo(page, 'drafts')
    await page.getByText('a draft of the outage').waitFor()
    await acts.openConversation(page, 'inbox', 'alice')
    await acts.turn(page, 'written in an outage').getByText(strings.turns.own.delivered, { exact: true }).waitFor()
    await acts.waitForState(page, 'live')
  })

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
