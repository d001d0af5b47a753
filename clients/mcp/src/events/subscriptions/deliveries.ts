import { join } from 'node:path'
import { ApiError } from '@svc/sdk/errors.ts'
import { sleep } from '@svc/sdk/http/waiting.ts'
import type { Mailbox } from '../../mailbox.ts'
import { explainError } from '../../output/explain-error.ts'
import { Lease } from '../../store/lease.ts'
import { encodeCursor } from '../cursors.ts'
import { FORBIDDEN } from '../event-errors.ts'
import { createFilter } from '../filter.ts'
import { readBatch } from '../occurrences.ts'
import { type Callbacks, controlId, type Failure, refusalOf } from './callback.ts'
import type { Progress, Subscription, SubscriptionStore } from './subscription-store.ts'
import { TIMES, type Times } from './times.ts'

interface DeliveriesDeps {
  readonly mailbox: Mailbox
  readonly store: SubscriptionStore
  readonly callbacks: Callbacks
  readonly principal: string
  readonly stateFolder: string
}

/** Delay before each attempt of a delivery, in ms. Five attempts within eleven minutes. */
const BACKOFF_MS: readonly number[] = [0, 5_000, 30_000, 120_000, 480_000]
/** A subscription without news looks at the log this often, in case a wake-up was lost. */
const QUIET_MS = 15_000
const BATCH = 20
/** The receiver does not want this delivery, ever. */
const GIVE_UP: readonly number[] = [410, 413]

/**
 * Delivers the events of all subscriptions of one principal. One process of a state folder does. Each subscription delivers one event
 * at a time, in order, so a flood waits in the log of the service and not here, and a slow receiver delays no other.
 */
export class Deliveries implements AsyncDisposable {
  readonly #deps: DeliveriesDeps
  readonly #times: Times
  readonly #lease: Lease
  readonly #stopped = new AbortController()
  readonly #workers = new Map<string, Promise<void>>()
  /** When each subscription last read the log, and the version of the watcher at that time. */
  readonly #looked = new Map<string, { version: number; atMs: number; refreshedAtMs: number }>()
  readonly #running: Promise<void>
  #watch: Disposable | undefined
  #wake = Promise.withResolvers<void>()

  constructor(deps: DeliveriesDeps, times = TIMES) {
    this.#deps = deps
    this.#times = times
    this.#lease = new Lease(join(deps.stateFolder, `deliveries-${deps.principal}.lease`))
    this.#running = this.#run()
  }

  /** A subscription was added, changed or removed. */
  notice(): void {
    this.#wake.resolve()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    await this.#running
    await Promise.all(this.#workers.values())
    this.#watch?.[Symbol.dispose]()
    this.#lease.release()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      try {
        this.#look()
      } catch (error) {
        this.#deps.mailbox.log('deliveries.failed', { code: explainError(error).code })
      }
      await Promise.race([sleep(this.#times.lookMs, signal).catch(() => undefined), this.#wake.promise])
      this.#wake = Promise.withResolvers<void>()
    }
  }

  /** Starts a worker for each subscription that has something to do. */
  #look(): void {
    const { store, principal, mailbox } = this.#deps
    const own = store.list(this.#times.nowMs()).filter((one) => one.principal === principal)
    if (own.length === 0) {
      this.#watch?.[Symbol.dispose]()
      this.#watch = undefined
      this.#lease.release()
      return
    }
    if (!this.#lease.renew()) return
    this.#watch ??= mailbox.watcher.onEveryChange(() => this.#wake.resolve())
    for (const one of own) {
      if (this.#workers.has(one.id) || !this.#isDue(one)) continue
      const worker = this.#deliver(one)
        .catch((error: unknown) => mailbox.log('deliveries.failed', { code: explainError(error).code }))
        .finally(() => this.#workers.delete(one.id))
      this.#workers.set(one.id, worker)
    }
  }

  #isDue(one: Subscription): boolean {
    const progress = this.#deps.store.progressOf(one)
    const nowMs = this.#times.nowMs()
    if (isSuspended(one, progress) || progress.retryAtMs > nowMs) return false
    const looked = this.#looked.get(one.id)
    if (looked === undefined || progress.attempts > 0 || looked.refreshedAtMs !== one.refreshedAtMs) return true
    return looked.version !== this.#deps.mailbox.watcher.version || nowMs - looked.atMs > QUIET_MS
  }

  /** Delivers until nothing is left, an attempt fails, or the subscription is gone. */
  async #deliver(start: Subscription): Promise<void> {
    const { mailbox, store } = this.#deps
    const { signal } = this.#stopped
    for (let one: Subscription | undefined = start; one !== undefined; one = store.find(start.id)) {
      const { version } = mailbox.watcher
      this.#looked.set(one.id, { version, atMs: this.#times.nowMs(), refreshedAtMs: one.refreshedAtMs })
      if (one.expiresAtMs <= this.#times.nowMs() || signal.aborted) return
      const progress = store.progressOf(one)
      try {
        await mailbox.ready(signal)
        const filter = await createFilter(mailbox, one.wanted, signal)
        const place = { after: progress.cursor, limit: BATCH, since: one.since }
        const batch = await readBatch(mailbox, filter, place, signal)
        if (batch.truncated) {
          const gap = { type: 'gap', cursor: encodeCursor(mailbox.aliases, batch.from) }
          if (!(await this.#attempt(one, controlId('gap'), gap, batch.from))) return
        }
        for (const { event, cursor } of batch.occurrences) {
          const body = { ...event, cursor: encodeCursor(mailbox.aliases, cursor) }
          if (!(await this.#attempt(one, event.eventId, body, cursor))) return
        }
        const now = store.progressOf(one)
        if (batch.cursor > now.cursor) this.#save(one, { ...now, cursor: batch.cursor })
        if (!batch.more) return
      } catch (error) {
        if (signal.aborted) return
        if (!isForbidden(error)) throw error
        const terminated = { type: 'terminated', error: { code: FORBIDDEN, message: explainError(error).text } }
        await this.#deps.callbacks.send(one, controlId('terminated'), terminated)
        store.remove(one.id)
        return
      }
    }
  }

  /** @returns whether the deliveries go on. */
  async #attempt(one: Subscription, webhookId: string, body: object, cursor: number): Promise<boolean> {
    const { store, callbacks, mailbox } = this.#deps
    // The secret may have changed, or the subscription may be gone.
    const current = store.find(one.id)
    if (current?.life !== one.life || this.#stopped.signal.aborted) return false
    const answer = await callbacks.send(current, webhookId, body)
    const before = store.progressOf(one)
    const nowMs = this.#times.nowMs()
    const failure: Failure | undefined = 'failure' in answer ? answer.failure : refusalOf(answer.status)
    if (failure === undefined) {
      this.#save(one, { life: one.life, cursor, attempts: 0, retryAtMs: 0, lastDeliveryAtMs: nowMs })
      return true
    }
    mailbox.log('delivery.failed', { subscription: one.id, failure })
    const failed = { lastError: failure, failedSinceMs: before.failedSinceMs ?? nowMs }
    if ('status' in answer && GIVE_UP.includes(answer.status)) {
      this.#save(one, { ...before, ...failed, cursor, attempts: 0, retryAtMs: 0 })
      return true
    }
    const attempts = before.attempts + 1
    const delayMs = BACKOFF_MS[attempts]
    if (delayMs === undefined)
      this.#save(one, { ...before, ...failed, attempts: 0, retryAtMs: 0, suspendedAtMs: nowMs })
    else this.#save(one, { ...before, ...failed, attempts, retryAtMs: nowMs + delayMs })
    return false
  }

  #save({ id, life }: Subscription, progress: Progress): void {
    if (this.#deps.store.find(id)?.life === life) this.#deps.store.saveProgress(id, progress)
  }
}

export function isSuspended({ refreshedAtMs }: Subscription, { suspendedAtMs }: Progress): boolean {
  return suspendedAtMs !== undefined && suspendedAtMs >= refreshedAtMs
}

/** The service no longer lets this agent read. */
function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'signer_revoked' || error.code === 'forbidden')
}
