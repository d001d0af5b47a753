import { verifyWebhook } from '@svc/sdk/webhook/webhook-receiver.ts'
import { type Received, startReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import { fingerprint } from '../history/fingerprint.ts'
import type { History } from '../history/history.ts'
import type { Random } from './random.ts'

/** The HTTPS endpoint of all webhooks of a run. It fails some first attempts, and records every request. */
export interface HookReceiver extends AsyncDisposable {
  readonly host: string
  readonly caFile: string
  urlFor(path: string): string
  /** Records deliveries in this history from now on. */
  startRound(history: History, random: Random): void
  expect(path: string, secret: string): void
}

/** This attempt fails. The service makes up to four more. */
const REFUSED = 0.05

export async function startHookReceiver(folder: string): Promise<HookReceiver> {
  const receiver = await startReceiver({ trusted: false, folder })
  const refusals = new Map<string, number>()
  let round: { history: History; random: Random } | undefined
  return {
    host: receiver.host,
    caFile: receiver.caFile,
    urlFor: (path) => receiver.urlFor(path),
    startRound(history, random) {
      round = { history, random }
      refusals.clear()
      // Drop earlier events. They are in the history of their round, and an hour of them would fill the memory.
      receiver.forget()
    },
    expect(path, secret) {
      const { history, random } = round ?? {}
      if (history === undefined || random === undefined) throw new Error('no round has been started')
      receiver.answer(path, async (received, response) => {
        const { id, delivery, digest, signed } = await factsOf(received, secret)
        const refused = (refusals.get(delivery) ?? 0) < 2 && random.chance(REFUSED)
        if (refused) refusals.set(delivery, (refusals.get(delivery) ?? 0) + 1)
        const answered = refused ? 500 : 204
        history.add({ type: 'delivery', path, id, delivery, digest, signed, answered, atMs: Date.now() })
        response.writeHead(answered).end()
      })
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}

async function factsOf(
  { headers, body }: Received,
  secret: string,
): Promise<{ id: string; delivery: string; digest: string; signed: boolean }> {
  const id = String(headers['x-svc-message-id'])
  const delivery = String(headers['x-svc-delivery-id'])
  try {
    const verified = await verifyWebhook(headers, body, { secret })
    return { id, delivery, digest: fingerprint(verified.envelope), signed: verified.messageId === id }
  } catch {
    return { id, delivery, digest: '', signed: false }
  }
}
