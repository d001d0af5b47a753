/** Libraries that others wrote verify a delivery of the running system, with the secret that `svc webhook set` made. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verify as verifyOfGitHub } from '@octokit/webhooks-methods'
import { formatKey, keyFromSeed } from '@svc/sdk/keys.ts'
import { verifyWebhook } from '@svc/sdk/webhook/webhook-receiver.ts'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { svc } from '../../../clients/cli/test/run.ts'
import { eventually } from '../../support/eventually.ts'
import { lacks } from '../../support/run/lacks.ts'
import { type Received, startReceiver, type WebhookReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

const NO_PYTHON = spawnSync('python3', ['-c', '']).status === 0 ? undefined : 'there is no python3'
/** Verifies both forms, with the standard library alone. */
const HMAC_IN_PYTHON = `
import base64, hashlib, hmac, json, sys
given = json.load(sys.stdin)
secret, head, body = given['secret'], given['headers'], base64.b64decode(given['body'])
own = hmac.new(secret.encode(), f"{head['x-svc-timestamp']}.{head['x-svc-message-id']}.".encode() + body, hashlib.sha256)
key = base64.b64decode(secret.removeprefix('whsec_'), validate=True)
standard = hmac.new(key, f"{head['webhook-id']}.{head['webhook-timestamp']}.".encode() + body, hashlib.sha256)
print(hmac.compare_digest('sha256=' + own.hexdigest(), head['x-svc-signature']))
print(hmac.compare_digest('v1,' + base64.b64encode(standard.digest()).decode(), head['webhook-signature']))`

let h: Harness
let receiver: WebhookReceiver
let secret: string
let delivery: Received
beforeAll(async () => {
  receiver = await startReceiver()
  const env = { SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host, NODE_EXTRA_CA_CERTS: receiver.caFile }
  h = await startHarness({ replicas: ONE_OF_EACH, env })
  const [alice, bob] = await h.agents(2)
  await bob.patch('/v2/me', { inbox_policy: 'open' })
  const folder = mkdtempSync(join(tmpdir(), 'svc-webhook-'))
  try {
    const key = join(folder, 'bob.key')
    writeFileSync(key, formatKey(keyFromSeed(bob.key.secretKey)), { mode: 0o600 })
    const set = await svc(['webhook', 'set', receiver.urlFor('/'), '--key', key, '--url', h.place.url, '--quiet'])
    expect(set).toMatchObject({ exitCode: 0, stderr: '' })
    secret = set.stdout.trimEnd()
  } finally {
    rmSync(folder, { recursive: true })
  }
  expect((await alice.post('/v2/messages', alice.envelope(bob, { text: 'ü € 😀' }))).status).toBe(202)
  delivery = await eventually(() => receiver.at('/')[0] ?? false)
})
afterAll(async () => {
  await h?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
})

function headersOf(prefix: string): Record<string, string> {
  const headers = Object.entries(delivery.headers as Record<string, string>)
  return Object.fromEntries(headers.filter(([name]) => name.startsWith(prefix)))
}

test.each([
  ['standardwebhooks', StandardWebhook],
  ['svix', SvixWebhook],
])('spec 10.9: %s verifies the headers of Standard Webhooks', (_, Library) => {
  const library = new Library(secret)
  const verify = (body: string, changed = {}) => library.verify(body, { ...headersOf('webhook-'), ...changed })
  const body = delivery.body.toString()
  verify(body)
  expect(() => verify(`${body} `)).toThrow()
  expect(() => verify(body, { 'webhook-id': 'another' })).toThrow()
})

test('spec 10.5: @octokit/webhooks-methods verifies X-SVC-Signature, given what it covers', async () => {
  const { 'x-svc-timestamp': at, 'x-svc-message-id': id, 'x-svc-signature': signature = '' } = headersOf('x-svc-')
  const signed = `${at}.${id}.${delivery.body}`
  expect(await verifyOfGitHub(secret, signed, signature)).toBe(true)
  expect(await verifyOfGitHub(secret, `${signed} `, signature)).toBe(false)
})

test.skipIf(lacks(NO_PYTHON))('spec 10.5, 10.9: hmac of Python verifies both forms', () => {
  const input = JSON.stringify({ secret, headers: delivery.headers, body: delivery.body.toString('base64') })
  expect(execFileSync('python3', ['-c', HMAC_IN_PYTHON], { input, encoding: 'utf8' })).toBe('True\nTrue\n')
})

test.each(['x-svc-', 'webhook-'])(
  'spec 10.8: the receiver of the SDK verifies with %s headers alone',
  async (prefix) => {
    const { messageId, deliveryId } = await verifyWebhook(headersOf(prefix), delivery.body, { secret })
    expect([messageId, deliveryId]).toEqual([delivery.headers['x-svc-message-id'], delivery.headers['webhook-id']])
    const changed = Buffer.concat([delivery.body, Buffer.from(' ')])
    await expect(verifyWebhook(headersOf(prefix), changed, { secret })).rejects.toThrow('does not match')
  },
)
