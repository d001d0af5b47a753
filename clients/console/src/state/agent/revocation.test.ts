import { afterEach, expect, test, vi } from 'vitest'
import { watchRevocation } from './revocation.ts'

afterEach(() => vi.unstubAllGlobals())

const refusal = (code: string) => JSON.stringify({ error: { code, message: 'no' } })

test.each([
  ['a revoked signer', 401, refusal('signer_revoked'), 1],
  ['an unknown signer', 401, refusal('signer_unknown'), 0],
  ['another agent that was revoked', 409, refusal('agent_revoked'), 0],
  ['a proxy', 401, 'signer_revoked', 0],
  ['a proxy that answers JSON', 401, 'null', 0],
  ['a message that has the word', 200, refusal('signer_revoked'), 0],
])('%s: status %i, told %s times', async (_, status, body, times) => {
  vi.stubGlobal('fetch', async () => new Response(body, { status }))
  const onRevoked = vi.fn()
  const response = await watchRevocation(onRevoked)('http://service.test/v2/me')
  expect(onRevoked).toHaveBeenCalledTimes(times)
  // The caller reads the answer too.
  expect(await response.text()).toBe(body)
})
