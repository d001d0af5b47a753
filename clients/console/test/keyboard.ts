/** A person who has only a keyboard. Nothing here clicks. */
import { strings } from '@svc/console/strings.ts'
import type { Page } from '@svc/test/support/engines/chromium.ts'
import { PASSPHRASE, turn } from './acts.ts'

/** The most stops between two things that a person needs one after the other. */
const MAX_TABS = 40

/** What has the focus, as a screen reader would say it. */
const FOCUSED = `(() => {
  const element = document.activeElement
  const label = element.labels?.[0]?.textContent
  return (label ?? element.getAttribute('aria-label') ?? element.textContent ?? '').trim()
})()`

/** Whether a person sees where the focus is. */
const IS_VISIBLE = `(() => {
  const element = document.activeElement
  const isShown = (one) => getComputedStyle(one).outlineStyle !== 'none' || getComputedStyle(one).boxShadow !== 'none'
  return isShown(element) || [...element.querySelectorAll('.active')].some(isShown) || element.closest('label, .way') !== null
})()`

export async function tabTo(page: Page, name: string): Promise<void> {
  for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
    const focused = await page.evaluate<string>(FOCUSED)
    if (focused.startsWith(name)) {
      if (!(await page.evaluate<boolean>(IS_VISIBLE))) throw new Error(`the focus on ${name} is not visible`)
      return
    }
    await page.keyboard.press('Tab')
  }
  throw new Error(`${name} was not reached with ${MAX_TABS} tabs`)
}

export async function pressOn(page: Page, name: string, key = 'Enter'): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press(key)
}

/** The field of the name has the focus. */
export async function createAgent(page: Page, name: string): Promise<void> {
  await page.getByLabel(strings.start.name, { exact: true }).and(page.locator(':focus')).waitFor()
  await page.keyboard.type(name)
  await tabTo(page, strings.start.passphrase)
  await page.keyboard.type(PASSPHRASE)
  await tabTo(page, strings.start.repeat)
  await page.keyboard.type(PASSPHRASE)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: strings.pages.inbox }).waitFor()
}

/** Locks the console, and unlocks it. *Unlock* is the first stop after the field. */
export async function lockAndUnlock(page: Page): Promise<void> {
  await pressOn(page, strings.agents.lock)
  await page.getByLabel(strings.start.passphrase, { exact: true }).and(page.locator(':focus')).waitFor()
  await page.keyboard.type(PASSPHRASE)
  await page.keyboard.press('Tab')
  await page.getByRole('button', { name: strings.start.unlock, exact: true }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: strings.pages.inbox }).waitFor()
}

export async function write(page: Page, to: string, text: string): Promise<void> {
  await page.keyboard.press('c')
  await page.getByLabel(strings.write.to, { exact: true }).and(page.locator(':focus')).waitFor()
  await page.keyboard.type(to)
  await tabTo(page, strings.write.text)
  await page.keyboard.type(text)
  await page.keyboard.press('Control+Enter')
  await turn(page, text).waitFor()
}

/** Opens the newest conversation of the requests, accepts its sender, and answers. */
export async function acceptAndAnswer(page: Page, text: string): Promise<void> {
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.getByRole('heading', { level: 1, name: strings.pages.requests }).waitFor()
  await page.getByRole('option').first().waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: strings.requests.accept, exact: true }).waitFor()
  await pressOn(page, strings.requests.accept)
  await page.getByRole('heading', { level: 1, name: strings.pages.inbox }).waitFor()
  const field = page.getByRole('form', { name: strings.write.replying }).getByRole('textbox')
  await field.waitFor()
  await page.keyboard.press('r')
  await field.and(page.locator(':focus')).waitFor()
  await page.keyboard.type(text)
  await page.keyboard.press('Control+Enter')
  await turn(page, text).getByText(strings.turns.own.delivered, { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('e')
  await page.getByText(strings.turns.received.acknowledged).first().waitFor()
}

/** Finds a message by its text, and opens its conversation. */
export async function search(page: Page, text: string): Promise<void> {
  await page.keyboard.press('/')
  await page.keyboard.type(text)
  await page.getByRole('option').filter({ hasText: text }).waitFor()
  await tabTo(page, strings.pages.inbox)
  await page.keyboard.press('Enter')
  await turn(page, text).waitFor()
}

export async function showShortcuts(page: Page): Promise<void> {
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: strings.shortcuts.title }).getByText(strings.shortcuts.next).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}
