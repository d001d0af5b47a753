import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import type { Cipher } from '../../store/cipher.ts'
import { makeFolder, readIfThere } from '../../store/files.ts'
import type { Wanted } from '../event-type.ts'

/** What a client asked for. The process that answers the client writes it. */
export interface Subscription {
  readonly id: string
  /** The holder of the token that subscribed. */
  readonly principal: string
  readonly wanted: Wanted
  /** It answered the challenge before this was written. */
  readonly url: string
  readonly secret: string
  /** Signs beside the present secret for a while, so that a receiver can change its own later. */
  readonly oldSecret: { readonly secret: string; readonly untilMs: number } | undefined
  /** Names this life of the subscription. After it has lapsed, the next one begins anew. */
  readonly life: string
  /** Deliveries begin after this cursor. */
  readonly start: number
  readonly since: number | undefined
  readonly refreshedAtMs: number
  readonly expiresAtMs: number
}

/** How far the deliveries of a subscription are. Written only by the process that delivers. */
export interface Progress {
  readonly life: string
  /** Everything up to this cursor was delivered, or given up because the receiver refused it. */
  readonly cursor: number
  /** Failed attempts of the next delivery. */
  readonly attempts: number
  readonly retryAtMs: number
  /** When the deliveries were suspended. A later refresh ends the suspension. */
  readonly suspendedAtMs?: number | undefined
  readonly lastDeliveryAtMs?: number | undefined
  readonly lastError?: string | undefined
  readonly failedSinceMs?: number | undefined
}

/** A file per subscription and one for its progress, so that two processes never write the same file. Both are encrypted. */
export class SubscriptionStore {
  readonly #folder: string
  readonly #cipher: Cipher

  constructor(stateFolder: string, cipher: Cipher) {
    this.#folder = join(stateFolder, 'subscriptions')
    this.#cipher = cipher
    makeFolder(this.#folder)
  }

  /** Subscriptions that have not expired. Removes the files of the others. */
  list(nowMs = Date.now()): Subscription[] {
    const names = readdirSync(this.#folder)
    const live = names.flatMap((name) => {
      const subscription = ID.test(name) ? this.find(name) : undefined
      if (subscription === undefined) return []
      if (subscription.expiresAtMs > nowMs) return [subscription]
      this.remove(subscription.id)
      return []
    })
    for (const name of names) {
      const [, id = ''] = /^([0-9a-f]{32})\.progress$/.exec(name) ?? []
      if (id !== '' && !names.includes(id)) this.remove(id)
    }
    return live
  }

  find(id: string): Subscription | undefined {
    return this.#read<Subscription>(id)
  }

  save(subscription: Subscription): void {
    this.#write(subscription.id, subscription)
  }

  /** @returns the beginning if nothing was delivered in this life yet. */
  progressOf({ id, life, start }: Subscription): Progress {
    const progress = this.#read<Progress>(`${id}.progress`)
    return progress?.life === life ? progress : { life, cursor: start, attempts: 0, retryAtMs: 0 }
  }

  saveProgress(id: string, progress: Progress): void {
    this.#write(`${id}.progress`, progress)
  }

  remove(id: string): void {
    for (const name of [id, `${id}.progress`]) rmSync(join(this.#folder, name), { force: true })
  }

  #read<T>(name: string): T | undefined {
    const content = readIfThere(join(this.#folder, name))
    const text = content === undefined ? undefined : this.#cipher.decrypt(`subscriptions/${name}`, content)
    return text === undefined ? undefined : (JSON.parse(text) as T)
  }

  #write(name: string, value: object): void {
    writeDurably(join(this.#folder, name), this.#cipher.encrypt(`subscriptions/${name}`, JSON.stringify(value)))
  }
}

const ID = /^[0-9a-f]{32}$/
