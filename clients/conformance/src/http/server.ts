/** The server under test: its gateways, its authority, its limits, and the pace at which it is asked. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type ExchangeOptions, exchange, type Observe, type Sent } from './exchange.ts'

export interface Server {
  /** Base URLs of its gateways, at least one. */
  readonly urls: readonly string[]
  /** From its manifest (spec 5.1). */
  readonly authority: string
  readonly limits: Readonly<Record<string, number>>
  readonly difficulty: number
  /** Sends a request when the pace allows it. @param gateway 1 is the first. */
  send(sent: Sent, options?: ExchangeOptions & { gateway?: number }): Promise<Answer>
}

interface Pace {
  /** Requests for each second, over all cases. Infinite for a server without rate limits. */
  readonly perSecond: number
}

/** @throws Error that says what is wrong with the manifest. */
export async function findServer(urls: readonly string[], { perSecond }: Pace, observe?: Observe): Promise<Server> {
  const [first = ''] = urls
  const manifest = await exchange(first, { method: 'GET', target: '/.well-known/agent.json', headers: {} })
  const { authority, limits, registration } = manifest.body ?? {}
  if (manifest.status !== 200 || typeof authority !== 'string')
    throw new Error(
      `${first}/.well-known/agent.json is no manifest (spec 5.1): ${manifest.status} ${manifest.text.slice(0, 200)}`,
    )
  const wait = createPace(perSecond)
  return {
    urls,
    authority,
    limits: limits ?? {},
    difficulty: registration?.difficulty ?? 18,
    async send(sent, { gateway = 1, observe: own, onStream } = {}) {
      await wait()
      const both: Observe = (one, answer) => {
        own?.(one, answer)
        observe?.(one, answer)
      }
      return exchange(urls[(gateway - 1) % urls.length] ?? first, sent, { observe: both, onStream })
    },
  }
}

/** Lets requests start in turn, so that a server with the default rates (spec 3.15) refuses none of them. */
function createPace(perSecond: number): () => Promise<void> {
  let nextMs = 0
  return async () => {
    if (perSecond === Number.POSITIVE_INFINITY) return
    const nowMs = performance.now()
    nextMs = Math.max(nextMs + 1_000 / perSecond, nowMs)
    if (nextMs > nowMs) await sleep(nextMs - nowMs)
  }
}
