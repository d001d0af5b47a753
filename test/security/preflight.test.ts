/** A browser does not sign its preflights. An attacker may sign one, and its signature is checked like any other. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Agent } from '../support/client/agent.ts'
import { got, outcomeOf } from '../support/client/answers.ts'
import { exchange } from '../support/client/raw-http.ts'
import { draft, type HeaderLines, headersOf } from '../support/client/signed-request.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'

const TARGET = '/v2/messages'
const FROM_BROWSER = { origin: 'https://app.example', 'access-control-request-method': 'POST' }

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('usual')
})
afterAll(() => h?.[Symbol.asyncDispose]())

function signedBy(signer: Agent): HeaderLines {
  return { ...headersOf(draft(signer, { method: 'OPTIONS', target: TARGET })), ...FROM_BROWSER }
}

async function preflight(headers: HeaderLines): Promise<string> {
  return outcomeOf(await exchange(h.place.url, { method: 'OPTIONS', target: TARGET, headers }))
}

test('signed preflights that are replayed, or come from a revoked key, are refused, and crash no gateway', async () => {
  const [anna, ben] = await h.agents(2)
  const once = signedBy(anna)
  expect(await preflight(once)).toBe('204')
  for (let again = 0; again < 3; again += 1) expect(await preflight(once)).toBe('409 nonce_replayed')

  await got(ben.post('/v2/me/revoke', { confirm_agent_id: ben.id }))
  for (let again = 0; again < 3; again += 1) expect(await preflight(signedBy(ben))).toBe('401 signer_revoked')

  expect(await preflight(FROM_BROWSER)).toBe('204')
  expect(outcomeOf(await anna.get('/v2/me'))).toBe('200')
})
