/** How smoothly the console scrolls a long inbox in headless Chromium, which draws without a graphics card. */
import { strings } from '@svc/console/strings.ts'
import { importAgent, waitForInbox } from '@svc/console/test/acts.ts'
import { AgentClient, formatKey, generateKey } from '@svc/sdk'
import { type Page, startChromium } from '../../support/engines/chromium.ts'
import { startBenchSystem } from './bench-system.ts'

const MESSAGES = 10_000
const SENDERS = 16
/** Only a page that hangs takes this long to do anything. */
const LIMIT_MS = 120_000
/** Four rows for each frame, as with a fast wheel. */
const STEP_PIXELS = 288

/** Prints frame times while the list scrolls for `seconds`. At its end, the list starts over. */
export async function benchConsole({ seconds }: { seconds: number }): Promise<void> {
  await using system = await startBenchSystem()
  await using browser = await startChromium({ ownFolder: true })
  const url = `http://${system.authority}`
  const [reader, writer] = [new AgentClient({ url, key: generateKey() }), new AgentClient({ url, key: generateKey() })]
  await Promise.all([reader.register('reader'), writer.register('writer')])
  await reader.updateSettings({ inbox_policy: 'open' })
  await timed(`sending ${MESSAGES} messages`, () => fill(writer))

  const page = await browser.newPage()
  page.setDefaultTimeout(LIMIT_MS)
  await page.goto(`${url}/console`)
  await importAgent(page, formatKey(reader.key ?? generateKey()))
  await waitForInbox(page)
  await timed('loading them in the page', () => loadAll(page))
  const { frames, rows } = await scroll(page, seconds)
  const sorted = frames.toSorted((a, b) => a - b)
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)
  console.log(`scrolling ${MESSAGES} messages for ${seconds} s: ${frames.length} frames, ${rows} rows in the document`)
  console.log(`ms between frames: median ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, longest ${at(1)}`)
}

async function fill(writer: AgentClient): Promise<void> {
  let left = MESSAGES
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      while (left > 0) {
        left -= 1
        await writer.send({ to: 'reader', body: `message ${left}: ${'some words to fill the line '.repeat(left % 5)}` })
      }
    }),
  )
}

/**
 * Scrolls to the end of the list until every page is loaded. After a failed request the list waits for the user.
 * @throws Error if it takes too long.
 */
async function loadAll(page: Page): Promise<void> {
  const isComplete = page.getByText(strings.mail.thatIsAll)
  const startMs = Date.now()
  while ((await isComplete.count()) === 0) {
    if (Date.now() - startMs > LIMIT_MS) throw new Error(`the page has stopped at: ${await readStatus(page)}`)
    await page.evaluate("document.querySelector('[role=listbox]').scrollTop = 1e9")
    await page.waitForTimeout(100)
  }
  await page.evaluate("document.querySelector('[role=listbox]').scrollTop = 0")
}

async function readStatus(page: Page): Promise<string> {
  return (await page.getByRole('status').allTextContents()).join(', ')
}

async function timed(what: string, task: () => Promise<void>): Promise<void> {
  const startMs = Date.now()
  await task()
  console.log(`${what}: ${((Date.now() - startMs) / 1000).toFixed(1)} s`)
}

function scroll(page: Page, seconds: number): Promise<{ frames: number[]; rows: number }> {
  return page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('[role=listbox]')
    const frames = []
    const end = performance.now() + ${seconds * 1000}
    let last
    const step = (now) => {
      if (last !== undefined) frames.push(now - last)
      last = now
      const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight
      list.scrollTop = isAtEnd ? 0 : list.scrollTop + ${STEP_PIXELS}
      if (now < end) requestAnimationFrame(step)
      else resolve({ frames, rows: list.querySelectorAll('[role=option]').length })
    }
    requestAnimationFrame(step)
  })`)
}
