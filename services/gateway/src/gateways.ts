import { randomBytes } from 'node:crypto'
import type { RequestOf } from '@svc/contracts/define.ts'
import {
  type GatewayPresence,
  isGatewayPresence,
  PRESENCE_SUBJECT,
  type RateLimitName,
  reportRates,
  reportRatesTo,
} from '@svc/contracts/gateway.ts'
import type { Channel } from '@svc/nats/channel.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Settlement } from './domain/shared-bucket.ts'
import { knownGateways } from './http-metrics.ts'
import type { Gateways, ReportOf } from './rate-limit.ts'

const PRESENCE_INTERVAL_MS = 1_000
/** All that are new within so long are answered together: after an outage of NATS everybody is. */
const NEWCOMERS_MS = 5
/**
 * One that was not heard of for so many intervals has gone. They are this process's own, so that one which stood still
 * itself forgets nobody.
 */
const MISSED_PRESENCES = 3
/** Others at most: each is looked at when a client is new. */
const MAX_OTHERS = 255
/**
 * A gateway that does not answer for so long is left out until it is heard of again; one whose process has ended at once,
 * because NATS says so. Requests that wait for it are judged here then.
 */
const ANSWER_LIMIT_MS = 1_000

/**
 * Finds the other gateways and talks to them. Without NATS, and until another one is heard of, this one is alone.
 * Whoever may use the gateway's NATS user is believed.
 */
export async function startGateways(channel: Channel, logger: Logger): Promise<Gateways & Disposable> {
  const self = randomBytes(8).toString('hex')
  /** Intervals since each was heard of. */
  const others = new Map<string, number>()
  const keepers = new Map<RateLimitName, (report: ReportOf) => Settlement>()
  const listeners: (() => void)[] = []
  let all: readonly string[] = [self]
  let isAnswering = false

  const presences = channel.subscribe(PRESENCE_SUBJECT, hear)
  channel.subscribe(reportRatesTo(self), answer)
  const interval = setInterval(beat, PRESENCE_INTERVAL_MS)
  interval.unref()
  const level = knownGateways.read(() => [[{}, all.length]])
  void channel.watchConnection((state) => {
    if (state === 'back') announce('new')
    else forgetAll()
  })
  announce('new')
  // Others know this one, and their answers are on their way, when the first request comes.
  await channel.flush()

  return {
    self,
    get all() {
      return all
    },
    report,
    onReport: (limit, keep) => void keepers.set(limit, keep),
    onChange: (changed) => void listeners.push(changed),
    [Symbol.dispose]() {
      clearInterval(interval)
      level[Symbol.dispose]()
      presences[Symbol.dispose]()
      announce('gone')
      forgetAll()
    },
  }

  function announce(state: GatewayPresence['state']): void {
    channel.publish(PRESENCE_SUBJECT, { gateway: self, state } satisfies GatewayPresence)
  }

  function beat(): void {
    announce('here')
    for (const [gateway, missed] of others) {
      if (missed >= MISSED_PRESENCES) others.delete(gateway)
      else others.set(gateway, missed + 1)
    }
    update()
  }

  function hear(presence: unknown): void {
    if (!isGatewayPresence(presence) || presence.gateway === self) return
    const { gateway, state } = presence
    if (state === 'gone') others.delete(gateway)
    else if (others.has(gateway) || others.size < MAX_OTHERS) others.set(gateway, 0)
    update()
    if (state === 'new') answerNewcomers()
  }

  function answerNewcomers(): void {
    if (isAnswering) return
    isAnswering = true
    setTimeout(() => {
      isAnswering = false
      announce('here')
    }, NEWCOMERS_MS).unref()
  }

  function forgetAll(): void {
    others.clear()
    update()
  }

  function update(): void {
    if (all.length === others.size + 1 && all.every((gateway) => gateway === self || others.has(gateway))) return
    all = [self, ...others.keys()]
    logger.info({ gateways: all.length }, 'gateways that share rates')
    for (const changed of listeners) changed()
  }

  async function report(
    keeper: string,
    limit: RateLimitName,
    reports: readonly ReportOf[],
  ): Promise<readonly Settlement[]> {
    const request: RequestOf<typeof reportRates> = {
      limit,
      reports: reports.map(({ client, taken, asked, level }) => [client, taken, asked, shortened(level)]),
    }
    try {
      const reply = await channel.request(reportRatesTo(keeper), request, ANSWER_LIMIT_MS)
      if (!reportRates.isReply(reply) || reply.settlements.length !== reports.length)
        throw new Error('an answer to reported rates breaks its contract')
      return reply.settlements.map(([granted, level]) => ({ granted, level }))
    } catch (error) {
      logger.warn({ err: error, gateway: keeper }, 'a gateway did not answer')
      others.delete(keeper)
      update()
      throw error
    }
  }

  function answer(request: unknown, respond: (reply: unknown) => void): void {
    const keep = reportRates.isRequest(request) ? keepers.get(request.limit) : undefined
    if (!reportRates.isRequest(request) || keep === undefined) {
      logger.error('reported rates break their contract')
      return
    }
    const settlements = request.reports.map(([client, taken, asked, level]) => {
      const settlement = keep({ client, taken, asked, level })
      return [settlement.granted, shortened(settlement.level)]
    })
    respond({ settlements })
  }
}

/** Two decimals, rounded up: nothing that was taken is lost on the way. */
function shortened(level: number): number {
  return Math.ceil(level * 100) / 100
}
