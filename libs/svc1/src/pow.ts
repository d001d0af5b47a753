import { sha256 } from '@noble/hashes/sha2.js'

/** A proof-of-work nonce: 1 to 128 printable ASCII characters without space (spec 5.5). */
const NONCE_FORM = /^[\x21-\x7e]{1,128}$/
const HASH_BITS = 256
/** 16 decimal digits are enough for every difficulty that can be solved in practice. */
const COUNTER_DIGITS = 16
/** Work between two ticks of the event loop. Shorter than a frame, so that a user interface stays responsive. */
const SLICE_MS = 12
/** Hashes between two reads of the clock. They take about 0.2 ms. */
const HASHES_PER_LOOK = 256

const utf8 = new TextEncoder()

interface SolveOptions {
  /** Aborts the search. The promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called after every slice of work, about 80 times per second. */
  readonly onProgress?: ((progress: SolveProgress) => void) | undefined
}

export interface SolveProgress {
  readonly hashes: number
  /** 2^difficulty, the mean number of hashes. Failed attempts do not reduce the expected number of further ones. */
  readonly expectedHashes: number
}

/** Counts the leading zero bits of a hash, starting at the highest bit of its first byte. */
export function leadingZeroBits(hash: Uint8Array): number {
  let bits = 0
  for (const byte of hash) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24
    bits += 8
  }
  return bits
}

/**
 * Whether SHA-256 of `<challenge>:<nonce>` begins with `difficulty` zero bits (spec 5.5). Also false if the nonce is not 1
 * to 128 characters from 0x21 to 0x7e, which spec 5.5 requires.
 */
export function checkWork(challenge: string, nonce: string, difficulty: number): boolean {
  return NONCE_FORM.test(nonce) && leadingZeroBits(sha256(utf8.encode(`${challenge}:${nonce}`))) >= difficulty
}

/**
 * Finds a nonce that `checkWork` accepts. Works in slices and yields to the event loop between them. 2^18 hashes, the mean
 * at the default difficulty, take about 0.2 s. WebCrypto would be slower, because its calls cost more than the hash. A
 * worker thread would not be faster; it would only keep the slices off the main thread.
 * @param difficulty leading zero bits, 0 to 256. @throws RangeError for another difficulty.
 */
export async function solveWork(challenge: string, difficulty: number, options: SolveOptions = {}): Promise<string> {
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > HASH_BITS) {
    throw new RangeError(`the difficulty must be 0 to 256 bits, but is ${difficulty}`)
  }
  const { signal, onProgress } = options
  const expectedHashes = 2 ** difficulty
  const attempt = attempts(challenge)
  const ticks = createTicks()
  let hashes = 0
  try {
    for (;;) {
      signal?.throwIfAborted()
      const sliceEnd = performance.now() + SLICE_MS
      do {
        for (let i = 0; i < HASHES_PER_LOOK; i++) {
          const { hash, counter } = attempt()
          if (leadingZeroBits(hash) >= difficulty) return String.fromCharCode(...counter)
        }
        hashes += HASHES_PER_LOOK
      } while (performance.now() < sliceEnd)
      onProgress?.({ hashes, expectedHashes })
      await ticks.next()
    }
  } finally {
    ticks.close()
  }
}

/**
 * Hashes the challenge with one counter after another. The challenge itself is hashed only once. Each attempt copies that
 * state, so an attempt hashes only one block. Each attempt overwrites the result of the previous one.
 */
function attempts(challenge: string): () => { hash: Uint8Array; counter: Uint8Array } {
  const prefix = sha256.create().update(utf8.encode(`${challenge}:`))
  const hasher = prefix.clone()
  const counter = new Uint8Array(COUNTER_DIGITS).fill(0x30)
  const hash = new Uint8Array(HASH_BITS / 8)
  const found = { hash, counter }
  return () => {
    increment(counter)
    prefix._cloneInto(hasher)
    hasher.update(counter).digestInto(hash)
    return found
  }
}

/** Adds one to a number in ASCII digits, in place. */
function increment(digits: Uint8Array): void {
  for (let i = digits.length - 1; i >= 0; i--) {
    const digit = digits[i] ?? 0
    if (digit < 0x39) {
      digits[i] = digit + 1
      return
    }
    digits[i] = 0x30
  }
}

/**
 * Waits for the next tick of the event loop. Browsers delay timers, by 4 ms if nested and by 1 s in a background tab, but
 * they do not delay messages. Node handles up to 1,000 messages in one tick, so Node uses setImmediate. The caller must
 * call `close`, because not every browser supports `using` yet.
 */
function createTicks(): { next(): Promise<void>; close(): void } {
  if (typeof setImmediate === 'function') {
    return { next: () => new Promise((resolve) => setImmediate(resolve)), close: () => {} }
  }
  const { port1, port2 } = new MessageChannel()
  port1.start()
  return {
    next: () =>
      new Promise((resolve) => {
        port1.addEventListener('message', () => resolve(), { once: true })
        port2.postMessage(null)
      }),
    close: () => port1.close(),
  }
}
