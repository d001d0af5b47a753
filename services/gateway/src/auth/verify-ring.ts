/**
 * A queue of signatures to verify, as a ring in memory that two threads share. One thread puts signatures in, and both take them
 * out. Neither thread ever waits for the other: if one takes a signature and stalls, the other may settle it too.
 *
 * Each signature gets a ticket, the next number in sequence. Until the verdict, the state of the slot names the ticket. So a late
 * verdict is dropped: if the slot already holds another signature, its state names another ticket.
 */

/** Maximum number of signatures in the ring; a power of two. */
export const RING_SLOTS = 256
/** Maximum length of a signed string, in bytes. Seven lines with a target of usual length have about 200. */
export const RING_TEXT_BYTES = 1_024

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const SIGNATURE_AT = KEY_BYTES
const TEXT_AT = SIGNATURE_AT + SIGNATURE_BYTES
const SLOT_BYTES = TEXT_AT + RING_TEXT_BYTES

/** Ticket numbers wrap around after this many. By then nothing holds an old ticket with the same number. */
const TICKETS = 2 ** 30
const TICKET_MASK = TICKETS - 1

/** Indexes of the words: the next ticket to take, the next ticket to put, and whether the thread that only takes is asleep. */
const NEXT_TAKEN = 0
const NEXT_PUT = 1
const ASLEEP = 2
const STATES_AT = 3
const LENGTHS_AT = STATES_AT + RING_SLOTS
const WORDS = LENGTHS_AT + RING_SLOTS

/** State of a slot: free, or its ticket shifted left by two bits, with one of the values below in the two low bits. */
const FREE = 0
const PENDING = 1
const VALID = 2
const INVALID = 3

const MEMORY_BYTES = WORDS * Int32Array.BYTES_PER_ELEMENT + RING_SLOTS * SLOT_BYTES

interface RingEntry {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** 64 bytes. */
  readonly signature: Uint8Array
  /** The bytes of the signed string. */
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
   * Puts a signature in. Only one thread may call this.
   * @param publicKey 32 bytes.
   * @param signature 64 bytes.
   * @param text the signed string; each character is one byte (latin1).
   * @returns its ticket; undefined if the ring is full or the text is too long.
   * @throws RangeError if a length is wrong: a shorter value would leave bytes of the slot's previous signature.
   */
  put(publicKey: Uint8Array, signature: Uint8Array, text: string): number | undefined {
    if (publicKey.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) {
      throw new RangeError('a public key must have 32 bytes, and a signature 64')
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
    // A wake-up costs more than one verification, so the thread that puts verifies a single signature itself.
    if (this.waiting > 1 && Atomics.load(this.#words, ASLEEP) === 1) Atomics.notify(this.#words, NEXT_PUT)
    return ticket
  }

  /** Signatures that neither thread has taken. */
  get waiting(): number {
    return (Atomics.load(this.#words, NEXT_PUT) - Atomics.load(this.#words, NEXT_TAKEN)) & TICKET_MASK
  }

  /** Takes the ticket that has waited longest. No other caller gets it. @returns undefined if none waits. */
  take(): number | undefined {
    for (;;) {
      const ticket = Atomics.load(this.#words, NEXT_TAKEN)
      if (ticket === Atomics.load(this.#words, NEXT_PUT)) return undefined
      if (Atomics.compareExchange(this.#words, NEXT_TAKEN, ticket, next(ticket)) === ticket) return ticket
    }
  }

  /**
   * Copies the entry, because another signature may get the slot in the meantime. Then the copy is garbage, and `settle` drops
   * the verdict on it.
   */
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

  /** Sets the verdict on a ticket. The first verdict stands, and a verdict on an old ticket is dropped. */
  settle(ticket: number, isValid: boolean): void {
    const state = stateOf(ticket, isValid ? VALID : INVALID)
    Atomics.compareExchange(this.#words, STATES_AT + slotOf(ticket), stateOf(ticket, PENDING), state)
  }

  /** Returns the verdict on a ticket and frees its slot; undefined if there is none yet. Only for the thread that puts. */
  collect(ticket: number): boolean | undefined {
    const slot = slotOf(ticket)
    const state = Atomics.load(this.#words, STATES_AT + slot)
    if (state === stateOf(ticket, PENDING)) return undefined
    Atomics.store(this.#words, STATES_AT + slot, FREE)
    return state === stateOf(ticket, VALID)
  }

  /** Blocks until there may be a ticket to take. Only for the thread that only takes. */
  sleep(): void {
    Atomics.store(this.#words, ASLEEP, 1)
    const ticket = Atomics.load(this.#words, NEXT_PUT)
    // A ticket that is put in after the load above changes the word, so `wait` returns at once.
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
