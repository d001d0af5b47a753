import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentClient } from '@svc/sdk/client.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { createFileStore } from '@svc/sdk/store/file-store.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMarks } from '../store/marks.ts'
import { pinKnownKeys } from './pins.ts'

const [bob, carol, mallory] = [generateKey(), generateKey(), generateKey()]

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
  await start(`carol=${carol.pubkey}`)
  const later = await start()
  expect(await later.resolve('bob')).toMatchObject({ agentId: bob.agentId })
  expect(await later.resolve(carol.agentId)).toMatchObject({ name: 'carol' })
  await expect(later.pin('bob', mallory.pubkey)).rejects.toMatchObject({ reason: 'key_changed' })
  expect(['bob', 'carol', 'left-empty'].map(createMarks(folder, 'used').has)).toEqual([true, true, false])
})

test('a pin that contradicts another one, or is damaged, is not ignored', async () => {
  leave('bob')
  await start()
  await expect(start(`bob=${mallory.pubkey}`)).rejects.toThrow(
    /^--pin bob=.*: the state folder pins another key for bob/,
  )
  leave('bob', mallory)
  await expect(start()).rejects.toThrow(
    /pins\/bob: the state folder pins another key for bob.*Find out which one is right/,
  )
  writeFileSync(join(folder, 'pins', 'bob'), '{"name": "b')
  await expect(start()).rejects.toThrow(/pins\/bob is damaged/)
})

test.each([
  ['Bob=ed25519:00', 'malformed'],
  ['bob', 'a public key must be'],
  ['bob=ed25519:00', 'a public key must be'],
])('a malformed pin of the configuration is refused: %s', async (text, reason) => {
  await expect(start(text)).rejects.toThrow(reason)
})
