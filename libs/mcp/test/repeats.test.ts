import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { parseKey } from '@svc/sdk/keys.ts'
import { clientOf, collect, registered } from '@svc/sdk/test/agents.ts'
import { startFakeService } from '@svc/sdk/test/fake-service.ts'
import { expect, test } from 'vitest'
import { createLog } from '../src/log.ts'
import { openMailbox } from '../src/startup/start.ts'
import { serveOverHttp } from '../src/transports/http.ts'
import { overHttp, temporaryFolder, textOf } from './scene.ts'

const TOKEN = 'a-token-of-thirty-two-characters!!'
const POLICY = { readOnly: false, contactsOnly: false, requireVerified: false, maxUnits: 10, maxDailyUnits: undefined }

test.each([false, true])(
  'spec 7.4: a message whose answers were all lost is sent once when the model calls again (its own id: %s)',
  { timeout: 120_000 },
  async (hasId) => {
    await using stack = new AsyncDisposableStack()
    const service = stack.use(await startFakeService())
    const folder = stack.use(temporaryFolder())
    const [bob] = await registered(service, 'bob')
    const options = {
      url: service.url,
      keyPath: folder.path('key'),
      register: 'alice',
      policy: { ...POLICY, askStrangers: false },
    }
    const mailbox = stack.use(await openMailbox(options, createLog(new PassThrough().resume())))
    const face = stack.use(await serveOverHttp(mailbox, { port: 0, token: TOKEN }))
    const alice = stack.use(await overHttp('http 2026', face.url, TOKEN))
    const message = { to: 'bob', body: 'once', ...(hasId ? { message_id: 'an-id-of-my-own' } : {}) }
    service.meet('POST /v2/messages', ...Array.from({ length: 7 }, () => ({ kind: 'lose' }) as const))
    const lost = textOf(await alice.result('send_message', message))
    expect(lost).toMatch(/^no_answer: .* message_id [\w-]+: that is the same message/)
    expect(await alice.call('send_message', message)).toMatchObject({ duplicate: true, cost_units: 0 })
    const sent = await collect(clientOf(service, { key: parseKey(readFileSync(options.keyPath, 'utf8')) }).export())
    expect(sent).toHaveLength(1)
    expect(lost).toContain(sent[0]?.envelope.id)
    // The caller knows now that the message was sent, so the same text without an id is a new message.
    await bob.setContact(mailbox.key.agentId, 'accepted')
    if (!hasId) expect(await alice.call('send_message', message)).toMatchObject({ duplicate: false })
  },
)
