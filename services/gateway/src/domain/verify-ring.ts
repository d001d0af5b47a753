/**
 * Signatures that wait to be verified, in memory that two threads share. One of them puts them in; both take them out, whichever
 * is free, and neither ever waits for the other: what one has taken and does not get on with, the other may settle too.
 *
 * Each signature has a ticket, the next number. Its slot names the ticket while there is no verdict, so a verdict that comes late, when
 * the slot may hold another signature, finds another state and is dropped.
 */

/** Signatures in the ring at most; a power of two. */
export const RING_SLOTS = 256
/** Bytes of a signed text at most. Seven lines with a target of usual length have some 200. */
export const RING_TEXT_BYTES = 1_024

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const SIGNATURE_AT = KEY_BYTES
const TEXT_AT = SIGNATURE_AT + SIGNATURE_BYTES
const SLOT_BYTES = TEXT_AT + RING_TEXT_BYTES

/** Tickets start over after so many, long after whoever was to settle one has gone. */
const TICKETS = 2 ** 30
const TICKET_MASK = TICKETS - 1

/** Where the words are: the next ticket to take, the next one to put, and whether the thread that only takes is asleep. */
const NEXT_TAKEN = 0
const NEXT_PUT = 1
const ASLEEP = 2
const STATES_AT = 3
const LENGTHS_AT = STATES_AT + RING_SLOTS
const WORDS = LENGTHS_AT + RING_SLOTS

/** A slot's state: free, or its ticket above one of these in the two low bits. */
const FREE = 0
const PENDING = 1
const VALID = 2
const INVALID = 3

const MEMORY_BYTES = WORDS * Int32Array.BYTES_PER_ELEMENT + RING_SLOTS * SLOT_BYTES

export interface RingEntry {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** 64 bytes. */
  readonly signature: Uint8Array
  /** What was signed. */
  readonly signed: Uint8Array
}

/** @param firstTicket for tests. */
export function createRingMemory(firstTicket = 0): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(MEMORY_BYTES)
  const words = new Int32Array(memory, 0, WORDS)
  words[NEXT_TAKEN] = firstTicket & TICKET_MASK
  words[NEXT_PUT] = firstTicket & TICKET_MASK
  return memory
}

export class VerifyRing {
  readonly #words: Int32Array
  readonly #slots: Buffer

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory, 0, WORDS)
    this.#slots = Buffer.from(memory, this.#words.byteLength)
  }

  /**
   * Puts a signature in, by the one thread that does.
   * @param publicKey 32 bytes.
   * @param signature 64 bytes.
   * @param text what was signed, its characters as bytes (latin1).
   * @returns its ticket; undefined where there is no room, or none for so long a text.
   * @throws RangeError for another length: the rest would be what the slot held before.
   */
  put(publicKey: Uint8Array, signature: Uint8Array, text: string): number | undefined {
    if (publicKey.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) {
      throw new RangeError('a public key has 32 bytes, a signature 64')
    }
    if (text.length > RING_TEXT_BYTES) return undefined
    const ticket = Atomics.load(this.#words, NEXT_PUT)
    const slot = slotOf(ticket)
    if (Atomics.load(this.#words, STATES_AT + slot) !== FREE) return undefined
    const at = slot * SLOT_BYTES
    this.#slots.set(publicKey, at)
    this.#slots.set(signature, at + SIGNATURE_AT)
    this.#words[LENGTHS_AT + slot] = this.#slots.write(text, at + TEXT_AT, 'latin1')
    Atomics.store(this.#words, STATES_AT + slot, stateOf(ticket, PENDING))
    Atomics.store(this.#words, NEXT_PUT, next(ticket))
    // The one that puts takes the last one itself: to wake the other costs more than a single verification.
    if (this.waiting > 1 && Atomics.load(this.#words, ASLEEP) === 1) Atomics.notify(this.#words, NEXT_PUT)
    return ticket
  }

  /** Signatures that nobody has taken. */
  get waiting(): number {
    return (Atomics.load(this.#words, NEXT_PUT) - Atomics.load(this.#words, NEXT_TAKEN)) & TICKET_MASK
  }

  /** The ticket that has waited longest, for the caller alone; undefined when none waits. */
  take(): number | undefined {
    for (;;) {
      const ticket = Atomics.load(this.#words, NEXT_TAKEN)
      if (ticket === Atomics.load(this.#words, NEXT_PUT)) return undefined
      if (Atomics.compareExchange(this.#words, NEXT_TAKEN, ticket, next(ticket)) === ticket) return ticket
    }
  }

  /** Copied, since the slot may be given to another signature meanwhile; then what was read is of no use, nor is its verdict. */
  read(ticket: number): RingEntry {
    const slot = slotOf(ticket)
    const at = slot * SLOT_BYTES
    const copy = Buffer.allocUnsafe(TEXT_AT + (this.#words[LENGTHS_AT + slot] ?? 0))
    this.#slots.copy(copy, 0, at, at + copy.length)
    return {
      publicKey: copy.subarray(0, KEY_BYTES),
      signature: copy.subarray(SIGNATURE_AT, TEXT_AT),
      signed: copy.subarray(TEXT_AT),
    }
  }

  /** Says what a ticket's signature is; the first verdict stands, and one of a ticket of the past is dropped. */
  settle(ticket: number, isValid: boolean): void {
    const state = stateOf(ticket, isValid ? VALID : INVALID)
    Atomics.compareExchange(this.#words, STATES_AT + slotOf(ticket), stateOf(ticket, PENDING), state)
  }

  /** A ticket's verdict, for the thread that put it in, which frees its slot; undefined while there is none. */
  collect(ticket: number): boolean | undefined {
    const slot = slotOf(ticket)
    const state = Atomics.load(this.#words, STATES_AT + slot)
    if (state === stateOf(ticket, PENDING)) return undefined
    Atomics.store(this.#words, STATES_AT + slot, FREE)
    return state === stateOf(ticket, VALID)
  }

  /** Blocks until there may be something to take, for the thread that only takes. */
  sleep(): void {
    Atomics.store(this.#words, ASLEEP, 1)
    const ticket = Atomics.load(this.#words, NEXT_PUT)
    // What was put in since then has changed the word, and it does not sleep.
    if (ticket === Atomics.load(this.#words, NEXT_TAKEN)) Atomics.wait(this.#words, NEXT_PUT, ticket)
    Atomics.store(this.#words, ASLEEP, 0)
  }
}

function slotOf(ticket: number): number {
  return ticket & (RING_SLOTS - 1)
}

function next(ticket: number): number {
  return (ticket + 1) & TICKET_MASK
}

function stateOf(ticket: number, outcome: number): number {
  return (ticket << 2) | outcome
}
