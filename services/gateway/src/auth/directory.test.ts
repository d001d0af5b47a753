import { findAgent } from '@svc/contracts/identity.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { expect, test } from 'vitest'
import { createDirectory } from './directory.ts'

test('spec 2.2: a key of small order is never used, even if identity returns it', async () => {
  const publicKey = Uint8Array.of(1, ...new Uint8Array(31))
  const agentId = agentIdOf(publicKey)
  const agent = { agent_id: agentId, name: 'alice', pubkey: formatPublicKey(publicKey), created_at: 1, revoked: false }
  const bus = { call: async () => ({ agent }) } as unknown as Bus
  const finding = createDirectory(bus).findKey(agentId, { traceparent: '', deadlineMs: 0 })
  await expect(finding).rejects.toMatchObject({ code: 'internal' })
})

test("spec 6.2: a signer's name comes with its key, in one call, and is kept", async () => {
  const { agentId, publicKey } = createKeyPair()
  const asked: string[] = []
  const agent = { agent_id: agentId, name: 'alice', pubkey: formatPublicKey(publicKey), created_at: 1, revoked: false }
  const call = async ({ subject }: { subject: string }) => {
    asked.push(subject)
    return { agent }
  }
  const directory = createDirectory({ call } as unknown as Bus)
  const context = { traceparent: '', deadlineMs: 0 }
  await directory.findKey(agentId, context)
  expect(await directory.findName(agentId, context)).toBe('alice')
  await directory.findKey(agentId, context)
  expect(asked).toEqual([findAgent.subject])
})
