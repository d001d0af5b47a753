import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentClient } from '@svc/sdk/client.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { createFileStore } from '@svc/sdk/store/file-store.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Marks } from '../store/marks.ts'
import { pinConfiguredKeys } from './pins.ts'

const [bob, carol, dave, mallory] = [generateKey(), generateKey(), generateKey(), generateKey()]

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-mcp-pins-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A process that begins with the folder. It cannot reach the service. */
async function start(...configured: string[]): Promise<AgentClient> {
  const store = createFileStore(join(folder, 'client'), { shared: true })
  const client = new AgentClient({ url: 'http://127.0.0.1:9', authority: 'svc', store, retry: { attempts: 1 } })
  await pinConfiguredKeys(client, new Marks(folder, 'used'), configured)
  return client
}

test('pins of the configuration stay valid for later processes; no service is asked', async () => {
  await start(`carol=${carol.pubkey}`, `dave=${dave.agentId}`)
  const later = await start()
  expect(await later.resolve(carol.agentId)).toMatchObject({ name: 'carol' })
  await expect(later.pin('dave', mallory.pubkey)).rejects.toMatchObject({ reason: 'key_changed' })
  expect(await later.pin('dave', dave.pubkey)).toMatchObject({ agentId: dave.agentId })
  const used = new Marks(folder, 'used')
  expect(['carol', 'dave', 'bob'].map((name) => used.has(name))).toEqual([true, true, false])
})

test('a pin that contradicts another one is not ignored', async () => {
  await start(`bob=${bob.pubkey}`)
  for (const told of [mallory.pubkey, mallory.agentId])
    await expect(start(`bob=${told}`)).rejects.toThrow(
      /^--pin bob=.*: the state folder pins another key for bob.*Find out which one is right/,
    )
})

test.each([`Bob=${bob.pubkey}`, 'bob', 'bob=ed25519:00', `bob=${bob.agentId}=`])(
  'a malformed pin of the configuration is refused: %s',
  async (text) => {
    await expect(start(text)).rejects.toThrow(
      `--pin ${text} is malformed: use <name>=<agent id> or <name>=<public key, ed25519:…>`,
    )
  },
)
