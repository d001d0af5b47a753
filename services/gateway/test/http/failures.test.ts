import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getIdentity, revokeAgent, updateSettings } from '@svc/contracts/identity.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import {
  type Answer,
  AUTHORITY,
  envelopeOf,
  JSON_BODY,
  openRaw,
  sendRequest,
  signatureOf,
  startHarness,
} from '../support/harness.ts'

const errorOf = (status: number, code: string) => ({ status, body: { error: { code } } })
const HEALTH = { service: 'signed-agent-messaging', version: '2.0.0' }

describe('spec 5.2, 12.1: GET /v2/health', () => {
  test.each(['identity', 'messaging', 'boards', 'budget', 'stream', 'webhook'] as const)(
    'not ready while %s is not ready',
    async (name) => {
      await using h = await startHarness()
      expect(await h.send({ target: '/v2/health' })).toMatchObject({ status: 200, body: { status: 'ok', ...HEALTH } })
      // Requests share an answer for 250 ms, so a change shows only in a later answer.
      const until = (status: number): Promise<Answer> =>
        eventually(async () => {
          const answer = await h.send({ target: '/v2/health' })
          return answer.status === status && answer
        })
      h.ready[name] = false
      const unready = await until(503)
      expect(unready.headers).toMatchObject({ 'x-request-id': expect.any(String), 'retry-after': '1' })
      expect(unready.body).toEqual({ status: 'unavailable', ...HEALTH })
      h.ready[name] = true
      await until(200)
      await h.services[name].drain()
      expect(await until(503)).toMatchObject({ body: { status: 'unavailable' } })
    },
  )
})

describe('spec 3.17: 503 within 5 s, never a hang', () => {
  test('a service without a process', async () => {
    await using h = await startHarness()
    const alice = h.register('alice')
    await h.services.messaging.drain()
    const request = { method: 'POST', target: '/v2/messages', headers: JSON_BODY, body: envelopeOf(alice) }
    const answer = await h.sendSigned(alice, request)
    expect(answer).toMatchObject(errorOf(503, 'unavailable'))
    expect(answer.headers['retry-after']).toBe('1')
    expect(await h.sendSigned(alice, { target: '/v2/me' })).toMatchObject({ status: 200 })
    const line = h.log.find(({ msg }) => msg === 'request unavailable')
    expect(line).toMatchObject({ request_id: answer.headers['x-request-id'], method: 'POST', route: '/v2/messages' })
  })

  test('a service that does not answer', async () => {
    await using h = await startHarness()
    h.answer(getIdentity, () => new Promise(() => {}))
    // Repeat if the machine itself was paused for the remaining half second.
    await eventually(async () => {
      const start = Date.now()
      expect(await h.sendSigned(h.register('alice'), { target: '/v2/me' })).toMatchObject(errorOf(503, 'unavailable'))
      expect(Date.now() - start).toBeLessThan(5_000)
    })
  })

  test('NATS that is down and comes back', async () => {
    await using h = await startHarness()
    const alice = h.register('alice')
    await h.nats.kill()
    const start = Date.now()
    expect(await h.sendSigned(alice, { target: '/v2/me' })).toMatchObject(errorOf(503, 'unavailable'))
    expect(await h.send({ target: '/v2/health' })).toMatchObject({ status: 503, body: { status: 'unavailable' } })
    expect(Date.now() - start).toBeLessThan(20_000)
    await h.nats.restart()
    await eventually(async () => (await h.sendSigned(alice, { target: '/v2/me' })).status === 200)
  })
})

describe('spec 4.1: a 500 never shows internals', () => {
  test.each<[string, () => unknown]>([
    [
      'a service that fails',
      () => {
        throw new Error('relation "secret" does not exist')
      },
    ],
    ['an answer that breaks its contract', () => ({ secret: 1 })],
  ])('%s: the log has the cause under the request id', async (_, fault) => {
    await using h = await startHarness()
    h.answer(getIdentity, fault)
    const answer = await h.sendSigned(h.register('alice'), { target: '/v2/me' })
    expect(answer).toMatchObject(errorOf(500, 'internal'))
    expect(answer.text).not.toContain('secret')
    const line = h.log.find(({ msg }) => msg === 'request failed')
    expect(line).toMatchObject({ level: 50, request_id: answer.headers['x-request-id'], route: '/v2/me' })
  })
})

describe('during a drain the gateway accepts no requests and finishes those under way', () => {
  test('a request under way is answered, its connection is then closed, and no other request is accepted', async () => {
    const h = await startHarness()
    const alice = h.register('alice')
    const idle = openRaw(h.port)
    idle.write('GET /v2/health HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually(() => idle.received !== '')
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    h.answer(updateSettings, async ({ settings }) => {
      begun.resolve()
      await gate.promise
      const agent = {
        agent_id: alice.agentId,
        name: 'alice',
        pubkey: formatPublicKey(alice.publicKey),
        created_at: 1,
        revoked: false,
      }
      return { agent, address: 'alice@x', inbox_policy: 'requests', discoverable: false, ...settings }
    })
    const request = { method: 'PATCH', target: '/v2/me', body: '{"discoverable":true}' }
    const slow = h.sendSigned(alice, { ...request, headers: { ...JSON_BODY, connection: 'keep-alive' } })
    await begun.promise

    const stopped = h.gateway[Symbol.asyncDispose]()
    expect(await idle.ended).toMatch(/^HTTP\/1\.1 200 /)
    await expect(h.send({ target: '/v2/health' })).rejects.toThrow('ECONNREFUSED')
    gate.resolve()
    expect(await slow).toMatchObject({ status: 200, headers: { connection: 'close' }, body: { discoverable: true } })
    await stopped
    await h[Symbol.asyncDispose]()
  })

  test('a client that sends nothing does not delay the drain', async () => {
    const h = await startHarness()
    const silent = openRaw(h.port)
    silent.write('GET /v2/health HTTP/1.1\r\n')
    await eventually(() => silent.socket.bytesWritten > 0 && silent.socket.readyState === 'open')
    const start = Date.now()
    await h[Symbol.asyncDispose]()
    expect(Date.now() - start).toBeLessThan(30_000)
    await silent.ended
  })
})

test('an unhandled error drains the gateway: a request under way is answered, and the exit code is 1', async () => {
  await using h = await startHarness()
  const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
  const child = spawn(
    process.execPath,
    ['--import', fileOf('../auth/fail-on-signal.ts'), join((await findTestRun()).build, 'gateway.js')],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { SVC_NATS_URL: h.nats.urlFor('gateway'), SVC_HTTP_PORT: '0', SVC_AUTHORITY: AUTHORITY },
    },
  )
  using _ = { [Symbol.dispose]: () => void child.kill('SIGKILL') }
  const closed = once(child, 'close')
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += String(chunk)
  })
  const port = Number(await eventually(() => /"port":(\d+),"msg":"ready"/.exec(printed)?.[1] ?? false))
  const gate = Promise.withResolvers<void>()
  h.answer(revokeAgent, async () => {
    await gate.promise
    return { status: 'revoked' }
  })
  const alice = h.register('alice')
  const body = JSON.stringify({ confirm_agent_id: alice.agentId })
  const request = { method: 'POST', target: '/v2/me/revoke', body }
  const slow = sendRequest(port, { ...request, headers: { ...JSON_BODY, ...signatureOf(alice, request) } })
  await eventually(() => h.callsTo(revokeAgent).length === 1)

  child.kill('SIGUSR2')
  await eventually(() => printed.includes('"msg":"draining"'))
  child.kill('SIGUSR2')
  await eventually(() => printed.split('nobody handles this').length > 2)
  gate.resolve()
  expect(await slow).toMatchObject({ status: 200, headers: { connection: 'close' }, body: { status: 'revoked' } })
  expect(await closed).toEqual([1, null])
})

test('a port in use is one clear sentence', async () => {
  await using h = await startHarness()
  await expect(startHarness({ SVC_HTTP_PORT: String(h.port) })).rejects.toThrow(
    `SVC_HTTP_PORT ${h.port} on 127.0.0.1 is in use`,
  )
})
