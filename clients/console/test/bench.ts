/** `npx pnpm bench:console`: how fast the console is in Chromium, with a full archive. Prints a table. */
import { get } from 'node:http'
import { strings } from '@svc/console/strings.ts'
import { AgentClient, formatKey, generateKey } from '@svc/sdk'
import { type Page, startChromium } from '@svc/test/support/engines/chromium.ts'
import { readCommandLine } from '@svc/test/support/run/command-line.ts'
import { startBenchSystem } from '@svc/test/tools/bench/bench-system.ts'
import * as acts from './acts.ts'

const { mail, pages } = strings
const SENDERS = 20
/** Messages of the conversation that is opened. */
const LONG = 500
const OPENINGS = 10
/** A quick flick: five rows in each frame. */
const PX_PER_FRAME = 360
/** Reading 10,000 messages takes a minute on two cores. */
const PATIENCE_MS = 600_000

const { values } = readCommandLine({
  command: 'npx pnpm bench:console',
  does: 'Starts a system, fills an inbox, and measures the console in Chromium: first screen, scrolling, opening.',
  options: {
    messages: { kind: 'number', default: 10_000, min: LONG + 2 * SENDERS, whole: true, what: 'messages in the inbox' },
  },
})

interface Frames {
  readonly rows: number
  readonly intervalsMs: readonly number[]
}

await using system = await startBenchSystem({ SVC_POW_DIFFICULTY: '1' })
const url = `http://${system.authority}`
const alice = await register('alice', url)
const long = `${'the newest of a long conversation, '.repeat(3)}${LONG}`
const filledMs = await timed(() => fill(values.messages, url))

await using browser = await startChromium({ ownFolder: true })
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
page.setDefaultTimeout(PATIENCE_MS)
await page.goto(`${url}/console`)
await acts.importAgent(page, formatKey(alice.key ?? generateKey()))
const readMs = await timed(() => page.getByText(mail.allHere(values.messages, false)).waitFor())
const cpuMs = await measureCpu(page)
const beforeScroll = await cpuMs()
const frames = await scroll(page)
const scrollCpuMs = (await cpuMs()) - beforeScroll
const openings: number[] = []
for (let at = 0; at < OPENINGS; at += 1) openings.push(await open(page))

const share = (limitMs: number): string =>
  `${((100 * frames.intervalsMs.filter((ms) => ms > limitMs).length) / frames.intervalsMs.length).toFixed(1)} %`
const report: readonly (readonly [string, string])[] = [
  ['first screen, gzip', `${(await firstScreenBytes(`${url}/console`)).toLocaleString('en')} bytes`],
  [`filling ${values.messages.toLocaleString('en')} messages`, inMs(filledMs)],
  ['reading and keeping all of them, after the inbox is shown', inMs(readMs)],
  [
    `scrolling ${frames.rows.toLocaleString('en')} conversations: frames`,
    frames.intervalsMs.length.toLocaleString('en'),
  ],
  ['frames per second', ((1000 * frames.intervalsMs.length) / sum(frames.intervalsMs)).toFixed(1)],
  ['time of a frame, median', inMs(percentile(frames.intervalsMs, 0.5))],
  ['time of a frame, 95th percentile', inMs(percentile(frames.intervalsMs, 0.95))],
  ['CPU time of the main thread for a frame, mean', inMs(scrollCpuMs / frames.intervalsMs.length)],
  ['frames over 17 ms', share(17)],
  ['frames over 34 ms', share(34)],
  [`opening a conversation of ${LONG}, first time`, inMs(openings[0] ?? Number.NaN)],
  [`opening it, median of ${OPENINGS}`, inMs(percentile(openings, 0.5))],
]
for (const [what, figure] of report) process.stdout.write(`${what.padEnd(60)}${figure.padStart(16)}\n`)

async function register(name: string, address: string): Promise<AgentClient> {
  const client = new AgentClient({ url: address, key: generateKey() })
  await client.register(name)
  await client.updateSettings({ discoverable: true, inbox_policy: 'open' })
  return client
}

/** Fills alice's inbox: threads of two messages, and one long conversation, which is the newest. */
async function fill(messages: number, address: string): Promise<void> {
  const senders = await Promise.all(Array.from({ length: SENDERS }, (_, at) => register(`sender-${at}`, address)))
  const partner = await register('partner', address)
  let left = Math.floor((messages - LONG) / 2)
  const lone = (messages - LONG) % 2
  await Promise.all(
    senders.map(async (client, at) => {
      if (at < lone) await client.send({ to: 'alice', body: 'a message without an answer' })
      while (left > 0) {
        left -= 1
        const { msg_id: threadId } = await client.send({ to: 'alice', body: `Order ${left}: is the address right?` })
        await client.send({ to: 'alice', body: `Order ${left}: it is, thank you. No answer is needed.`, threadId })
      }
    }),
  )
  let turns = LONG - 1
  await Promise.all(
    senders.map(async () => {
      while (turns > 0) {
        turns -= 1
        await partner.send({ to: 'alice', body: `Turn ${turns} of a long conversation.` })
      }
    }),
  )
  await partner.send({ to: 'alice', body: long })
}

/** Scrolls the list from its top to its bottom, one step in each frame. */
async function scroll(shown: Page): Promise<Frames> {
  await shown.getByRole('listbox', { name: pages.inbox }).getByRole('option').first().waitFor()
  return shown.evaluate<Frames>(`new Promise((resolve) => {
    const list = document.querySelector('[role=listbox]')
    const rows = Number(list.querySelector('[role=option]').getAttribute('aria-setsize'))
    const intervalsMs = []
    let before
    list.scrollTop = 0
    const step = (now) => {
      if (before !== undefined) intervalsMs.push(now - before)
      before = now
      if (list.scrollTop + list.clientHeight >= list.scrollHeight - 1) {
        list.scrollTop = 0
        resolve({ rows, intervalsMs })
        return
      }
      list.scrollTop += ${PX_PER_FRAME}
      requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  })`)
}

/**
 * Programs beside the browser lengthen the frames, but not this figure.
 * @returns a function that reads the CPU time that the page's main thread has used.
 */
async function measureCpu(shown: Page): Promise<() => Promise<number>> {
  const session = await shown.context().newCDPSession(shown)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
}

/** Opens another conversation and then the long one. @returns ms from the click until its turns are drawn. */
async function open(shown: Page): Promise<number> {
  const rows = shown.getByRole('listbox', { name: pages.inbox }).getByRole('option')
  const newest = shown.getByRole('log').getByText(long, { exact: true })
  await rows.nth(1).click()
  await newest.waitFor({ state: 'detached' })
  const opened = shown.evaluate<number>(`new Promise((resolve) => {
    addEventListener('click', ({ timeStamp }) => {
      const look = () => {
        const log = document.querySelector('[role=log]')
        const turns = log === null ? 0 : log.querySelectorAll('article').length
        const isDrawn = turns > 1 && log.textContent.includes(${JSON.stringify(long)}) &&
          !log.textContent.includes(${JSON.stringify(mail.opening)})
        // The frame that shows them ends after the next message of the event loop.
        if (isDrawn) setTimeout(() => resolve(performance.now() - timeStamp))
        else requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
    }, { once: true, capture: true })
  })`)
  // The listener is there once a later call has been answered.
  await shown.evaluate('0')
  await rows.first().click()
  return opened
}

/** Bytes of the page and of all that it asks for at once. */
async function firstScreenBytes(address: string): Promise<number> {
  const text = await (await fetch(address)).text()
  const paths = [...text.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path = '']) => path)
  const sizes = await Promise.all([address, ...paths.map((path) => new URL(path, address).href)].map(gzipBytes))
  return sum(sizes)
}

async function gzipBytes(address: string): Promise<number> {
  const response = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
    get(address, { headers: { 'accept-encoding': 'gzip' } }, resolve).on('error', reject)
  })
  let bytes = 0
  for await (const chunk of response) bytes += chunk.length
  return bytes
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

function percentile(figures: readonly number[], share: number): number {
  const sorted = figures.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0)
}

function inMs(ms: number): string {
  return `${ms.toLocaleString('en', { maximumFractionDigits: 1 })} ms`
}
