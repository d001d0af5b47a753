/** `npx pnpm console:screenshot`: draws the console for the README. */
import { fileURLToPath } from 'node:url'
import { strings } from '@svc/console/strings.ts'
import { AgentClient, formatKey, generateKey } from '@svc/sdk'
import { startChromium } from '@svc/test/support/engines/chromium.ts'
import { readCommandLine } from '@svc/test/support/run/command-line.ts'
import { startBenchSystem } from '@svc/test/tools/bench/bench-system.ts'
import * as acts from './acts.ts'

const TARGET = fileURLToPath(new URL('../../../docs/images/console.png', import.meta.url))

const MESSAGES = [
  ['carol', 'The nightly build is green again. The fault was a stale cache.'],
  ['dave', 'Could you look at order 17? The address looks wrong.'],
  ['carol', { report: 'weekly', orders: 214, late: 3 }],
  ['bob', 'Here is the sealed contract. Nobody but you can read this text.'],
] as const

readCommandLine({
  command: 'npx pnpm console:screenshot',
  does: 'Starts a system, fills an inbox, and writes docs/images/console.png.',
  options: {},
})

await using system = await startBenchSystem({ SVC_DAILY_FREE_UNITS: '100', SVC_DAILY_HARD_LIMIT: '1000' })
await using browser = await startChromium({ ownFolder: true })
const url = `http://${system.authority}`
const register = async (name: string): Promise<AgentClient> => {
  const client = new AgentClient({ url, key: generateKey() })
  await client.register(name)
  await client.updateSettings({ discoverable: true, inbox_policy: 'open' })
  return client
}
const alice = await register('alice')
const others = new Map(
  await Promise.all(['bob', 'carol', 'dave'].map(async (name) => [name, await register(name)] as const)),
)
for (const [from, body] of MESSAGES) await others.get(from)?.send({ to: 'alice', body }, { seal: from === 'bob' })

const page = await browser.newPage({ viewport: { width: 1200, height: 720 } })
page.setDefaultTimeout(120_000)
await page.goto(`${url}/console`)
await acts.importAgent(page, formatKey(alice.key ?? generateKey()))
await acts.waitForState(page, 'live')
const message = await acts.openMessage(page, 'inbox', { from: 'bob', text: 'Here is the sealed contract' })
await message.getByText(strings.badges.sealed, { exact: true }).waitFor()
await page.screenshot({ path: TARGET })
