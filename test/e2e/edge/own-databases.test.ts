/** Gives every service its own Postgres server (docs/operating/scale.md), to prove that nothing depends on two schemas in one. */
import { STORES, type StoreName } from '@svc/local/topology.ts'
import { expect, test } from 'vitest'
import { svc } from '../../../clients/cli/test/run.ts'
import { got } from '../../support/client/answers.ts'
import { newBoard, subscribe } from '../../support/client/boards.ts'
import { openEventStream } from '../../support/client/event-stream.ts'
import type { TestDatabase } from '../../support/engines/database.ts'
import { startOwnServer } from '../../support/engines/postgres/own-server.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import { startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

test('a message, a post, a vote, the stream, a webhook, a revocation and the audit work across six servers', async () => {
  await using stack = new AsyncDisposableStack()
  const databases = new Map<string, TestDatabase>()
  await Promise.all(STORES.map(async (store) => databases.set(store, stack.use(await startOwnServer(store)))))
  const receiver = stack.use(await startReceiver())
  const h = stack.use(
    await startHarness({
      replicas: ONE_OF_EACH,
      env: { SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host, NODE_EXTRA_CA_CERTS: receiver.caFile },
      databaseUrl: (url, name) => {
        const store = name.replace(/-\d+$/, '') as StoreName
        return databases.get(store)?.urlFor(store) ?? url
      },
    }),
  )
  const [anna, ben] = await h.agents(2)
  await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
  const secret = '0123456789abcdef0123456789abcdef'
  await got(ben.put('/v2/webhook', { url: receiver.urlFor('/own'), secret }))
  using stream = await openEventStream(ben)
  await stream.until('cursor')

  const message = (await got(anna.send(ben))).body.msg_id
  await stream.until('message')
  expect(stream.ids()).toEqual([message])
  await eventually(() => expect(receiver.at('/own')).toHaveLength(1))

  const board = await newBoard(anna)
  await subscribe(ben, board)
  const post = (await got(anna.send(`board:${board}`))).body.msg_id
  await stream.until('message', 2)
  await got(ben.put(`/v2/messages/${post}/vote`))
  const feed = (await got(ben.get(`/v2/boards/${board}/messages`))).body
  expect(feed).toMatchObject({ messages: [{ envelope: { id: post }, upvotes: 1 }] })

  const verified = await eventually(async () => {
    const run = await svc(['admin', 'verify', '--json'], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })
    return run.exitCode === 0 ? run : false
  })
  expect(verified.stderr).toBe('')
  await got(anna.post('/v2/me/revoke', { confirm_agent_id: anna.id }))
  expect((await anna.send(ben)).status).toBe(401)
})
