import type { Envelope } from '@svc/contracts/resources.ts'
import { StoreError } from '../errors.ts'
import type { Draft } from '../messages/compose.ts'
import type { Store } from '../store/store.ts'

/** The answer that a handler returned, before it is composed. */
export interface Answer {
  readonly draft: Draft
  /** The key to seal it for. */
  readonly seal: string | boolean
  /** The sender to accept as a contact first. */
  readonly accept?: string | undefined
}

/** What is known about one message. */
export interface Entry {
  readonly id: string
  readonly cursor: number
  /** Whether the message is acknowledged once it is handled. */
  readonly acks: boolean
  /** Attempts that have begun. */
  readonly attempts: number
  /** Null if the message was handled and there is nothing to send. Absent if it was not handled yet. */
  readonly answer?: Answer | null
  /** The composed answer. It was perhaps posted. */
  readonly envelope?: Envelope
  readonly finished?: true
}

interface Owner {
  readonly agentId: string
  readonly authority: string
}

interface Place {
  readonly agent_id: string
  readonly authority: string
  readonly cursor: number
}

const PLACE = 'process/place'
const ENTRY = 'process/messages/'
/** Ids of finished messages that this process remembers, because a request that is accepted comes again as an `inbox` event. */
const MAX_REMEMBERED = 10_000
/** Events after the stored cursor that may be handled already. */
const MAX_BEHIND = 64

/**
 * How far an agent has processed its events, and what is still to be done for each message. Every step is in the store before
 * the next one begins. The cursor stays before the first message that is not handled. An answer that waits does not hold it,
 * because the entry of its message has all that is needed to send it. The stored cursor may be behind: what is handled after
 * it has an entry, or is acknowledged.
 */
export class Journal {
  readonly #store: Store
  readonly #owner: Owner
  readonly #entries: Map<string, Entry>
  readonly #taken = new Set<number>()
  readonly #finished = new Set<string>()
  #reached: number
  #stored: number
  #saving: Promise<void> = Promise.resolve()

  private constructor(store: Store, owner: Owner, { cursor, entries }: { cursor: number; entries: Entry[] }) {
    this.#store = store
    this.#owner = owner
    this.#entries = new Map(entries.map((entry) => [entry.id, entry]))
    this.#reached = cursor
    this.#stored = cursor
  }

  /**
   * @param begin returns the first cursor, if the store has none yet.
   * @throws StoreError if the store is damaged or belongs to another agent.
   */
  static async open(store: Store, owner: Owner, begin: () => Promise<number>): Promise<Journal> {
    const place = parse<Place>(PLACE, await store.get(PLACE), ({ cursor }) => Number.isSafeInteger(cursor))
    if (place !== undefined && (place.agent_id !== owner.agentId || place.authority !== owner.authority))
      throw new StoreError(`the store belongs to ${place.agent_id} at ${place.authority}: use another one`)
    const cursor = place?.cursor ?? (await begin())
    if (place === undefined) await store.set(PLACE, placeText(owner, cursor))
    const entries: Entry[] = []
    for (const key of await store.keys(ENTRY)) {
      const entry = parse<Entry>(key, await store.get(key), isEntry)
      if (entry === undefined) continue
      // Left by a process that was killed before it could delete the entry.
      const isOver = entry.cursor <= cursor && (entry.finished === true || entry.answer === undefined)
      if (isOver) await store.delete(key)
      else entries.push(entry)
    }
    entries.sort((a, b) => a.cursor - b.cursor)
    return new Journal(store, owner, { cursor, entries })
  }

  /** The stored cursor. */
  get cursor(): number {
    return this.#stored
  }

  /** Messages that are handled and not finished: their answers or acknowledgements are still to be sent. */
  get unsent(): Entry[] {
    return [...this.#entries.values()].filter(isUnsent)
  }

  get unsentCount(): number {
    return this.unsent.length
  }

  /** The cursors, by id, of messages whose attempt has begun and did not end. */
  get interrupted(): Map<string, number> {
    const begun = [...this.#entries.values()].filter(
      ({ answer, finished }) => answer === undefined && finished !== true,
    )
    return new Map(begun.filter(({ attempts }) => attempts > 0).map(({ id, cursor }) => [id, cursor]))
  }

  find(id: string): Entry | undefined {
    return this.#entries.get(id)
  }

  /** Whether a message needs no handler any more. */
  isHandled(id: string): boolean {
    return (
      this.#finished.has(id) || this.#entries.get(id)?.answer !== undefined || this.#entries.get(id)?.finished === true
    )
  }

  /** Keeps the cursor before this event until it is handled. */
  take(cursor: number): void {
    this.#taken.add(cursor)
    this.#reached = Math.max(this.#reached, cursor)
  }

  /**
   * There is nothing to do for the events up to this cursor that were not taken.
   * @param isQuiet whether no event follows at the moment.
   */
  async pass(cursor: number, isQuiet = false): Promise<void> {
    this.#reached = Math.max(this.#reached, cursor)
    if (isQuiet || this.#isFarBehind) await this.save()
  }

  /** There is nothing to do for an event that was taken, and it leaves no entry. */
  async skip(cursor: number): Promise<void> {
    this.#taken.delete(cursor)
    await this.save()
  }

  /** Counts an attempt before it begins. @returns its number, from 1, over all processes. */
  async begin(event: Pick<Entry, 'id' | 'cursor' | 'acks'>): Promise<number> {
    const attempts = (this.#entries.get(event.id)?.attempts ?? 0) + 1
    await this.#put({ ...event, attempts })
    return attempts
  }

  /** Does not count an attempt that ended because the process stops. */
  async giveBack(id: string): Promise<void> {
    const entry = this.#get(id)
    await this.#put({ ...entry, attempts: entry.attempts - 1 })
  }

  /**
   * The message is handled. From now on the answer is sent, whatever happens.
   * @param envelope the answer, if it could be composed at once, which saves a write.
   */
  async handled(id: string, answer: Answer | null, envelope?: Envelope): Promise<void> {
    const entry = this.#get(id)
    await this.#put({ ...entry, answer, ...(envelope === undefined ? {} : { envelope }) })
    this.#taken.delete(entry.cursor)
    if (this.#isFarBehind) await this.save()
  }

  async composed(id: string, envelope: Envelope): Promise<void> {
    await this.#put({ ...this.#get(id), envelope })
  }

  /**
   * Nothing is left to do for the message.
   * @param isAcked whether the service says of the message that it is acknowledged, if its event is read again.
   */
  async finish(id: string, isAcked: boolean): Promise<void> {
    const { cursor, acks, attempts } = this.#get(id)
    this.#finished.add(id)
    const [oldest] = this.#finished
    if (oldest !== undefined && this.#finished.size > MAX_REMEMBERED) this.#finished.delete(oldest)
    this.#taken.delete(cursor)
    if (!isAcked && cursor > this.#stored) {
      // The mark is needed until the cursor has passed the message.
      if (cursor > this.#passed) await this.#put({ id, cursor, acks, attempts, finished: true })
      await this.save()
    }
    if (isAcked || cursor <= this.#stored) await this.#drop(id)
    if (this.#isFarBehind) await this.save()
  }

  /** Stores the cursor. Saves run one after the other. */
  save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      const cursor = this.#passed
      if (cursor <= this.#stored) return
      await this.#store.set(PLACE, placeText(this.#owner, cursor))
      this.#stored = cursor
      for (const entry of this.#entries.values())
        if (entry.finished === true && entry.cursor <= cursor) await this.#drop(entry.id)
    })
    return this.#saving
  }

  /** Every event up to this cursor is handled, or is not for this consumer. */
  get #passed(): number {
    return this.#taken.size === 0 ? this.#reached : Math.min(...this.#taken) - 1
  }

  /** An event that is read again because the cursor is behind does no harm, so not every event stores it. */
  get #isFarBehind(): boolean {
    return this.#passed - this.#stored >= MAX_BEHIND
  }

  #get(id: string): Entry {
    const entry = this.#entries.get(id)
    if (entry === undefined) throw new Error(`the message ${id} has no entry`)
    return entry
  }

  async #put(entry: Entry): Promise<void> {
    this.#entries.set(entry.id, entry)
    await this.#store.set(ENTRY + entry.id, JSON.stringify(entry))
  }

  async #drop(id: string): Promise<void> {
    this.#entries.delete(id)
    await this.#store.delete(ENTRY + id)
  }
}

function isUnsent({ answer, finished }: Entry): boolean {
  return answer !== undefined && finished === undefined
}

function placeText({ agentId, authority }: Owner, cursor: number): string {
  const place: Place = { agent_id: agentId, authority, cursor }
  return JSON.stringify(place)
}

function isEntry({ id, cursor, attempts }: Partial<Entry>): boolean {
  return typeof id === 'string' && Number.isSafeInteger(cursor) && Number.isSafeInteger(attempts)
}

function parse<T>(key: string, text: string | undefined, isValid: (value: Partial<T>) => boolean): T | undefined {
  if (text === undefined) return undefined
  try {
    const value = JSON.parse(text) as Partial<T> | null
    if (value !== null && isValid(value)) return value as T
  } catch {
    // Reported below.
  }
  throw new StoreError(`${key} in the store is damaged: move the store away and begin with another one`)
}
