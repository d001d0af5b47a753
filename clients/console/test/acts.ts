/** A person's actions in the console. They find elements by the names that a screen reader would say. */
import { readFile } from 'node:fs/promises'
import { strings } from '@svc/console/strings.ts'
import { type AgentKey, parseKey } from '@svc/sdk'
import type { Locator, Page } from '@svc/test/support/engines/chromium.ts'

export const PASSPHRASE = 'correct horse battery'
const { start, mail, write, requests, settings, boards, contacts, turns } = strings

const button = (page: Page | Locator, name: string): Locator => page.getByRole('button', { name, exact: true })
const field = (page: Page | Locator, label: string): Locator => page.getByLabel(label, { exact: true })

/** Makes a key, and begins its registration. */
export async function createAgent(page: Page, name: string): Promise<void> {
  await field(page, start.name).fill(name)
  await givePassphrase(page)
  await button(page, start.createButton).click()
}

/** Brings the key file of an agent that is registered already. */
export async function importAgent(page: Page, keyFile: string): Promise<void> {
  await page.getByText(start.import, { exact: true }).click()
  await chooseKeyFile(page, keyFile)
  await finishImport(page)
}

export async function chooseKeyFile(page: Page, content: string): Promise<void> {
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'agent.key', mimeType: 'application/json', buffer: Buffer.from(content) })
}

/** Drags a key file over the page, and drops it at once, before the page has drawn anything. */
export async function dropFile(page: Page, content: string): Promise<void> {
  const prevented = await page.evaluate<string[]>(`(() => {
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([${JSON.stringify(content)}], 'agent.key'))
    const dispatch = (type) =>
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
    return ['dragenter', 'dragover', 'drop'].filter((type) => !dispatch(type))
  })()`)
  if (prevented.join() !== 'dragover,drop') throw new Error('the browser would leave the page and show the file')
}

export async function finishImport(page: Page): Promise<void> {
  await givePassphrase(page)
  await button(page, start.importButton).click()
  await waitForInbox(page)
}

async function givePassphrase(page: Page): Promise<void> {
  await field(page, start.passphrase).fill(PASSPHRASE)
  await field(page, start.repeat).fill(PASSPHRASE)
}

export async function unlock(page: Page, passphrase: string = PASSPHRASE): Promise<void> {
  await field(page, start.passphrase).fill(passphrase)
  await button(page, start.unlock).click()
}

export async function waitForInbox(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1, name: strings.pages.inbox }).waitFor()
}

export async function waitForState(page: Page, state: keyof typeof strings.live.states): Promise<void> {
  await page.getByRole('status', { name: strings.live.label }).filter({ hasText: strings.live.states[state] }).waitFor()
}

export async function goTo(page: Page, name: keyof typeof strings.pages): Promise<void> {
  await page
    .getByRole('link', { name: new RegExp(`^${strings.pages[name]}`) })
    .first()
    .click()
  await page.getByRole('heading', { level: 1, name: strings.pages[name] }).waitFor()
}

/** Saves the key file, which needs the passphrase, and reads it as the CLI would. */
export async function exportKey(page: Page): Promise<AgentKey> {
  await goTo(page, 'settings')
  await button(page.getByRole('region', { name: settings.keys }), settings.exportKey).click()
  const dialog = page.getByRole('dialog')
  await field(dialog, start.passphrase).fill(PASSPHRASE)
  const downloading = page.waitForEvent('download')
  await button(dialog, settings.exportKeyButton).click()
  const file = await (await downloading).path()
  await dialog.waitFor({ state: 'detached' })
  return parseKey(await readFile(file, 'utf8'))
}

/** Writes a sealed message to a name, and sends it. Its conversation is shown then. */
export async function sendSealed(page: Page, to: string, text: string): Promise<void> {
  await goTo(page, 'write')
  await field(page, write.to).fill(to)
  await field(page, write.text).fill(text)
  const seal = field(page, write.seal)
  if (!(await seal.isChecked())) await seal.check()
  await button(page, write.send).click()
  await turn(page, text).waitFor()
}

/** Writes to a name that nobody has. @returns what the page says about it. */
export async function sendToNobody(page: Page, name: string, isSealed: boolean): Promise<string | null> {
  await goTo(page, 'write')
  await field(page, write.to).fill(name)
  await field(page, write.text).fill('for nobody')
  await field(page, write.seal).setChecked(isSealed)
  await field(page, write.acceptReplies(name)).setChecked(false)
  await button(page, write.send).click()
  // The error stands at the field, which names it.
  await field(page, write.to).and(page.locator('[aria-invalid=true]')).waitFor()
  const problem = await page.locator('.field:has([aria-invalid=true]) .problem').textContent()
  await button(page, write.discard).click()
  return problem
}

/** Takes back a contact that was accepted together with a message. */
export async function takeBack(page: Page, name: string): Promise<void> {
  await goTo(page, 'contacts')
  const row = page.getByRole('region', { name: contacts.accepted }).getByRole('listitem').filter({ hasText: name })
  await row.getByText(contacts.byMessage).waitFor()
  await button(row, contacts.takeBack).click()
  await row.waitFor({ state: 'detached' })
}

/** Opens the conversation with an agent. */
export async function openConversation(page: Page, lane: 'inbox' | 'requests', name: string): Promise<void> {
  await goTo(page, lane)
  await page.getByRole('listbox', { name: strings.pages[lane] }).getByRole('option').filter({ hasText: name }).click()
  await page.getByRole('heading', { level: 2, name: new RegExp(`^${name}`) }).waitFor()
}

/** The message of the open conversation that has a text. */
export function turn(page: Page, text: string): Locator {
  return page.getByRole('log', { name: mail.thread }).getByRole('article').filter({ hasText: text })
}

/** Opens the conversation with an agent, and waits for a message of it. */
export async function openMessage(
  page: Page,
  lane: 'inbox' | 'requests',
  { from, text }: { from: string; text: string },
): Promise<Locator> {
  await openConversation(page, lane, from)
  const message = turn(page, text)
  await message.getByRole('group', { name: new RegExp(`^${mail.body('')}`) }).waitFor()
  return message
}

export async function acceptRequest(page: Page): Promise<void> {
  await button(page, requests.accept).click()
  await page.getByRole('heading', { level: 1, name: strings.pages.inbox }).waitFor()
}

/** Writes in the open conversation. */
export async function reply(page: Page, text: string): Promise<void> {
  const form = page.getByRole('form', { name: write.replying })
  await form.getByRole('textbox').fill(text)
  await button(form, write.send).click()
  await turn(page, text).getByText(turns.own.delivered, { exact: true }).waitFor()
}

/** Creates a board on which everybody may post. @returns its id. */
export async function createBoard(page: Page, title: string): Promise<string> {
  await goTo(page, 'boards')
  await button(page, boards.create).click()
  await field(page, boards.title).fill(title)
  await page.getByRole('radio', { name: boards.visibilityShort.public }).check()
  await field(page, boards.posting).selectOption('anyone')
  await button(page, boards.createButton).click()
  await page.getByRole('heading', { level: 2, name: title }).waitFor()
  return decodeURIComponent(page.url().split('/').at(-1) ?? '')
}

export async function openBoard(page: Page, id: string): Promise<void> {
  await goTo(page, 'boards')
  await field(page, boards.openById).fill(id)
  await button(page, boards.openButton).click()
  await button(page, boards.write).waitFor()
}

export async function post(page: Page, text: string): Promise<void> {
  await button(page, boards.write).click()
  const form = page.getByRole('form', { name: boards.write })
  await field(form, write.postText).fill(text)
  await button(form, write.post).click()
  await feedOf(page).getByText(text).waitFor()
}

export function feedOf(page: Page): Locator {
  return page.getByRole('region', { name: boards.feed })
}
