/** What a delivery proves (spec 10.5, 10.9), and how much of an answer is read (spec 10.7). */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Case, World } from '../../cases/case.ts'
import { check, got } from '../../cases/check.ts'
import type { Agent } from '../../http/agent.ts'
import { findFolder } from '../../report/rules.ts'
import type { Delivery } from '../../run/receiver.ts'

interface Parts {
  readonly timestamp: string
  readonly message_id: string
  readonly delivery_id: string
  readonly body: string
}

interface Vector extends Parts {
  readonly about: string
  readonly secret: string
  readonly signature: string
  readonly standard_webhooks: Readonly<Record<string, string>> | null
}

const STANDARD = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
const PATIENCE_MS = 30_000
const CHUNK = Buffer.alloc(64 * 1024, 'x')
/** More than buffers on the way can hold. */
const MUCH_BYTES = 256 * 1024 * 1024

export const DELIVERIES: readonly Case[] = [
  {
    id: 'webhooks/signatures',
    title:
      'Deliveries to a webhook: X-SVC-Signature for each secret of docs/vectors/webhook-signatures.json, and the headers of Standard Webhooks if the secret has their form',
    spec: ['10.5', '10.9'],
    needs: ['receiver'],
    agents: 1,
    async run(world) {
      const ben = await world.agent()
      const text = readFileSync(`${findFolder('vectors')}webhook-signatures.json`, 'utf8')
      for (const vector of (JSON.parse(text) as { deliveries: Vector[] }).deliveries) {
        const { about, secret, signature, standard_webhooks } = vector
        const expected = { signature, standard: standard_webhooks }
        check(proofsOf(secret, vector), expected, `the runner's own computation for the vector "${about}"`)
        await got(ben.put('/v2/webhook', { url: `${world.receiver.url}/${ben.id}`, secret }))
        const { msg_id } = await got(ben.send(ben, { text: 'ü € 😀' }))
        const { headers, body } = await deliveryOf(world, ben, msg_id)
        const parts = {
          timestamp: String(headers['x-svc-timestamp']),
          message_id: String(headers['x-svc-message-id']),
          delivery_id: String(headers['x-svc-delivery-id']),
          body: body.toString(),
        }
        const standard = STANDARD.filter((name) => name in headers).map((name) => [name, headers[name]])
        const came = {
          signature: headers['x-svc-signature'],
          standard: standard.length === 0 ? null : Object.fromEntries(standard),
        }
        check(came, proofsOf(secret, parts), `the delivery with the secret "${about}"`)
      }
    },
  },
  {
    id: 'webhooks/long-answer',
    title: 'Attempts of a delivery: at most 64 KiB of an answer are read, and 2xx is success however long it is',
    spec: ['10.7'],
    needs: ['receiver'],
    agents: 1,
    async run(world) {
      const ben = await world.agent()
      let written = 0
      world.receiver.answer(`/${ben.id}`, async (_, response) => {
        response.writeHead(200)
        for (; written < MUCH_BYTES && !response.destroyed; written += CHUNK.length) await write(response)
        response.end()
      })
      await got(ben.put('/v2/webhook', { url: `${world.receiver.url}/${ben.id}`, secret: '0'.repeat(32) }))
      const { msg_id } = await got(ben.send(ben))
      const delivery = await deliveryOf(world, ben, msg_id)
      await until(() => delivery.isGivenUp || written >= MUCH_BYTES, 'the end of the answer')
      if (!delivery.isGivenUp) throw new Error(`the server read all ${MUCH_BYTES} bytes of an answer`)
      await until(async () => {
        const { pending, failed } = await got(ben.get('/v2/webhook'))
        return pending === 0 && failed === 0
      }, 'the delivery being a success')
      check(world.receiver.at(`/${ben.id}`).length, 1, 'the number of attempts')
    },
  },
]

/** The values of the headers that belong to the parts of a delivery. */
function proofsOf(secret: string, { timestamp, message_id, delivery_id, body }: Parts): object {
  const hmac = createHmac('sha256', secret).update(`${timestamp}.${message_id}.${body}`).digest('hex')
  const encoded = /^whsec_(.*)$/s.exec(secret)?.[1]
  const key = Buffer.from(encoded ?? '', 'base64')
  const isStandard = key.toString('base64') === encoded && key.length >= 24 && key.length <= 64
  const digest = createHmac('sha256', key).update(`${delivery_id}.${timestamp}.${body}`).digest('base64')
  return {
    signature: `sha256=${hmac}`,
    standard: isStandard
      ? { 'webhook-id': delivery_id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${digest}` }
      : null,
  }
}

async function deliveryOf({ receiver }: World, agent: Agent, messageId: string): Promise<Delivery> {
  const find = () => receiver.at(`/${agent.id}`).find(({ headers }) => headers['x-svc-message-id'] === messageId)
  await until(() => find() !== undefined, `the delivery of ${messageId}`)
  return find() as Delivery
}

async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const endMs = Date.now() + PATIENCE_MS; !(await isSo()); await sleep(50))
    if (Date.now() > endMs) throw new Error(`${what} did not come within ${PATIENCE_MS / 1_000} s`)
}

function write(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.write(CHUNK, () => resolve()))
}
