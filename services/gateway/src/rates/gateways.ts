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

/** Finds the other gateways. */
export async function startGateways(channel: Channel, logger: Logger): Promise<Gateways & Disposable> {
  const gateways = new NatsGateways(channel, logger)
  // After this flush the others know this gateway, and their answers are on the way before the first request arrives.
  await channel.flush()
  return gateways
}

/**
 * The gateways of a deployment, including this one, and the messages between this gateway and the others. Without NATS, and
 * until it hears of another gateway, this gateway acts alone. Any process with the gateway's NATS credentials is trusted.
 */
class NatsGateways implements Gateways, Disposable {
  readonly self: string = randomBytes(8).toString('hex')
  readonly #channel: Channel
  readonly #logger: Logger
  /** The other gateways, and how many intervals ago each was last heard of. */
  readonly #others = new Map<string, number>()
  readonly #keepers = new Map<RateLimitName, (report: ReportOf) => Settlement>()
  readonly #onChanges: (() => void)[] = []
  readonly #running = new DisposableStack()
  #all: readonly string[] = [this.self]
  #isAnswering = false

  constructor(channel: Channel, logger: Logger) {
    this.#channel = channel
    this.#logger = logger
    this.#running.use(channel.subscribe(PRESENCE_SUBJECT, (presence) => this.#hear(presence)))
    channel.subscribe(reportRatesTo(this.self), (request, respond) => this.#answerReports(request, respond))
    this.#running.adopt(setInterval(() => this.#beat(), PRESENCE_INTERVAL_MS).unref(), clearInterval)
    this.#running.use(knownGateways.read(() => [[{}, this.#all.length]]))
    void channel.watchConnection((state) => {
      if (state === 'back') this.#announce('new')
      else this.#forgetAll()
    })
    this.#announce('new')
  }

  get all(): readonly string[] {
    return this.#all
  }

  onReport(limit: RateLimitName, keep: (report: ReportOf) => Settlement): void {
    this.#keepers.set(limit, keep)
  }

  onChange(changed: () => void): void {
    this.#onChanges.push(changed)
  }

  [Symbol.dispose](): void {
    this.#running[Symbol.dispose]()
    this.#announce('gone')
    this.#forgetAll()
  }

  #announce(state: GatewayPresence['state']): void {
    this.#channel.publish(PRESENCE_SUBJECT, { gateway: this.self, state } satisfies GatewayPresence)
  }

  #beat(): void {
    this.#announce('here')
    for (const [gateway, missed] of this.#others) {
      if (missed >= MISSED_PRESENCES) this.#others.delete(gateway)
      else this.#others.set(gateway, missed + 1)
    }
    this.#update()
  }

  #hear(presence: unknown): void {
    if (!isGatewayPresence(presence) || presence.gateway === this.self) return
    const { gateway, state } = presence
    if (state === 'gone') this.#others.delete(gateway)
    else if (this.#others.has(gateway) || this.#others.size < MAX_OTHERS) this.#others.set(gateway, 0)
    this.#update()
    if (state === 'new') this.#answerNewcomers()
  }

  #answerNewcomers(): void {
    if (this.#isAnswering) return
    this.#isAnswering = true
    setTimeout(() => {
      this.#isAnswering = false
      this.#announce('here')
    }, NEWCOMERS_MS).unref()
  }

  #forgetAll(): void {
    this.#others.clear()
    this.#update()
  }

  #update(): void {
    if (
      this.#all.length === this.#others.size + 1 &&
      this.#all.every((gateway) => gateway === this.self || this.#others.has(gateway))
    )
      return
    this.#all = [this.self, ...this.#others.keys()]
    this.#logger.info({ gateways: this.#all.length }, 'gateways that share rates')
    for (const changed of this.#onChanges) changed()
  }

  async report(keeper: string, limit: RateLimitName, reports: readonly ReportOf[]): Promise<readonly Settlement[]> {
    const request: RequestOf<typeof reportRates> = {
      limit,
      reports: reports.map(({ client, taken, asked, level }) => [client, taken, asked, shortened(level)]),
    }
    try {
      const reply = await this.#channel.request(reportRatesTo(keeper), request, ANSWER_LIMIT_MS)
      if (!reportRates.isReply(reply) || reply.settlements.length !== reports.length)
        throw new Error('the answer to a report of rates breaks its contract')
      return reply.settlements.map(([granted, level]) => ({ granted, level }))
    } catch (error) {
      this.#logger.warn({ err: error, gateway: keeper }, 'a gateway did not answer')
      this.#others.delete(keeper)
      this.#update()
      throw error
    }
  }

  #answerReports(request: unknown, respond: (reply: unknown) => void): void {
    const keep = reportRates.isRequest(request) ? this.#keepers.get(request.limit) : undefined
    if (!reportRates.isRequest(request) || keep === undefined) {
      this.#logger.error('a report of rates breaks its contract and is ignored')
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
