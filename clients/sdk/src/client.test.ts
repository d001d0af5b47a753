import type { Message } from '@svc/contracts/resources.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import { expect, test } from 'vitest'
import { AgentClient } from './client.ts'
import { generateKey } from './keys.ts'

const [bob, myself] = [generateKey(), generateKey()]

function messageFor(to: string, lane: Message['lane']): Message {
  const unsigned = {
    id: 'message-1',
    from: bob.agentId,
    to,
    type: 'request',
    ts: '2026-01-01T00:00:00Z',
    body: 'secret',
  }
  const envelope = signEnvelope(unsigned as never, bob.secretKey)
  return { envelope, lane, created_at: 0, expires_at: 0, acked: false, upvotes: 0 }
}

function startClient(): { client: AgentClient; requests: string[] } {
  const requests: string[] = []
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    requests.push(`${init?.method} ${new URL(String(url)).pathname}`)
    return Response.json({ error: { code: 'not_found', message: 'nothing' } }, { status: 404 })
  }
  const options = { url: 'http://x', key: myself, name: 'myself', authority: 'x' }
  const client = new AgentClient({ ...options, fetch: fetch as typeof globalThis.fetch })
  client.trust(bob.pubkey)
  return { client, requests }
}

test.each(['inbox', 'requests', 'board'] as const)(
  'spec 13.5: a message for somebody else is not verified, whatever lane the service says: %s',
  async (lane) => {
    const { client } = startClient()
    await expect(client.openMessage(messageFor('carol@x', lane))).rejects.toMatchObject({
      reason: 'addressed_to_another',
    })
    expect(await client.openMessage(messageFor('myself@x', lane))).toMatchObject({ verified: true, body: 'secret' })
  },
)

test.each([{ x: Number.NaN }, 'x'.repeat(5_000)])('a reply that cannot be sent accepts nobody: %#', async (body) => {
  const { client, requests } = startClient()
  await client.pin('bob', bob.pubkey)
  await expect(client.reply(messageFor('myself@x', 'requests'), body, { accept: true })).rejects.toThrow()
  expect(requests).toEqual([])
})
