import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentClient } from '@svc/sdk/client.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { createFileStore } from '@svc/sdk/store/file-store.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMarks } from '../store/marks.ts'
import { pinKnownKeys } from './pins.ts'

const [bob, carol, dave, mallory] = [generateKey(), generateKey(), generateKey(), generateKey()]

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-mcp-pins-'))
  mkdirSync(join(folder, 'pins'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** As an earlier version wrote it. */
function leave(name: string, { agentId, pubkey } = bob): void {
  writeFileSync(join(folder, 'pins', name), JSON.stringify({ name, agentId, pubkey, by: 'first use' }))
}

/** A process that begins with the folder. It cannot reach the service. */
async function start(...configured: string[]): Promise<AgentClient> {
  const store = createFileStore(join(folder, 'client'), { shared: true })
  const client = new AgentClient({ url: 'http://127.0.0.1:9', authority: 'svc', store, retry: { attempts: 1 } })
  await pinKnownKeys(client, createMarks(folder, 'used'), { folder, configured })
  return client
}

test('pins of an earlier version stay valid, and so do those of the configuration; no service is asked', async () => {
  leave('bob')
  writeFileSync(join(folder, 'pins', 'left-empty'), '')
  writeFileSync(join(folder, 'pins', 'bob.0123.tmp'), 'x')
  await start(`carol=${carol.pubkey}`, `dave=${dave.agentId}`)
  const later = await start()
  expect(await later.resolve('bob')).toMatchObject({ agentId: bob.agentId })
  expect(await later.resolve(carol.agentId)).toMatchObject({ name: 'carol' })
  for (const name of ['bob', 'dave'])
    await expect(later.pin(name, mallory.pubkey)).rejects.toMatchObject({ reason: 'key_changed' })
  expect(await later.pin('dave', dave.pubkey)).toMatchObject({ agentId: dave.agentId })
  expect(['bob', 'carol', 'dave', 'left-empty'].map(createMarks(folder, 'used').has)).toEqual([true, true, true, false])
})

test('a pin that contradicts another one, or is damaged, is not ignored', async () => {
  leave('bob')
  await start()
  for (const told of [mallory.pubkey, mallory.agentId])
    await expect(start(`bob=${told}`)).rejects.toThrow(/^--pin bob=.*: the state folder pins another key for bob/)
  leave('bob', mallory)
  await expect(start()).rejects.toThrow(
    /pins\/bob: the state folder pins another key for bob.*Find out which one is right/,
  )
  writeFileSync(join(folder, 'pins', 'bob'), '{"name": "b')
  await expect(start()).rejects.toThrow(/pins\/bob is damaged/)
})

test.each([`Bob=${bob.pubkey}`, 'bob', 'bob=ed25519:00', `bob=${bob.agentId}=`])(
  'a malformed pin of the configuration is refused: %s',
  async (text) => {
    await expect(start(text)).rejects.toThrow(
      `--pin ${text} is malformed: use <name>=<agent id> or <name>=<public key, ed25519:…>`,
    )
  },
)
