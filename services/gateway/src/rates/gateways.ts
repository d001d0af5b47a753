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
import { knownGateways } from '../metrics.ts'
import type { Gateways, ReportOf } from './rate-limit.ts'
import type { Settlement } from './shared-bucket.ts'

const PRESENCE_INTERVAL_MS = 1_000
/**
 * One answer serves all gateways that announce themselves within this time. After an outage of NATS all gateways are
 * new.
 */
const NEWCOMERS_MS = 5
/**
 * A gateway that was silent for this many intervals counts as gone. Intervals are counted by this process's own timer, so a
 * process that was itself paused does not forget the others.
 */
const MISSED_PRESENCES = 3
/** Maximum number of other gateways, because each new client is hashed against all of them. */
const MAX_OTHERS = 255
/**
 * A gateway that does not answer within this time is left out until it is heard of again. If its process has ended, NATS reports
 * that at once. Requests that waited for its answer are then judged by this gateway.
 */
const ANSWER_LIMIT_MS = 1_000

/**
 * Finds the other gateways and talks to them. Without NATS, and until it hears of another gateway, this gateway acts alone.
 * Any process with the gateway's NATS credentials is trusted.
 */
export async function startGateways(channel: Channel, logger: Logger): Promise<Gateways & Disposable> {
  const self = randomBytes(8).toString('hex')
  /** The other gateways, and how many intervals ago each was last heard of. */
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
  // After this flush the others know this gateway, and their answers are on the way before the first request arrives.
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
        throw new Error('the answer to a report of rates breaks its contract')
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
      logger.error('a report of rates breaks its contract and is ignored')
      return
    }
    const settlements = request.reports.map(([client, taken, asked, level]) => {
      const settlement = keep({ client, taken, asked, level })
      return [settlement.granted, shortened(settlement.level)]
    })
    respond({ settlements })
  }
}

/** Rounds up to two decimals, so that rounding never loses a request that was taken. */
function shortened(level: number): number {
  return Math.ceil(level * 100) / 100
}
