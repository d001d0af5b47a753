import { sha256 } from '@noble/hashes/sha2.js'

/** A proof-of-work nonce: 1 to 128 printable ASCII characters, no space (spec 5.5). */
const NONCE_FORM = /^[\x21-\x7e]{1,128}$/
const HASH_BITS = 256
/** Sixteen decimal digits outlast any difficulty that can be solved at all. */
const COUNTER_DIGITS = 16
/** Work done between two turns of the event loop: less than a frame, so that an interface stays alive. */
const SLICE_MS = 12
/** Hashes between two looks at the clock: about 0.2 ms. */
const HASHES_PER_LOOK = 256

const utf8 = new TextEncoder()

export interface SolveOptions {
  /** Stops the search; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called after every slice of work, some 80 times a second. */
  readonly onProgress?: ((progress: SolveProgress) => void) | undefined
}

export interface SolveProgress {
  readonly hashes: number
  /** 2^difficulty, the mean. The search has no memory: having done this many says nothing about how many are left. */
  readonly expectedHashes: number
}

/** Leading zero bits of a hash, its first byte's highest bit first. */
export function leadingZeroBits(hash: Uint8Array): number {
  let bits = 0
  for (const byte of hash) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24
    bits += 8
  }
  return bits
}

/**
 * Whether SHA-256 of `<challenge>:<nonce>` begins with `difficulty` zero bits (spec 5.5).
 * False also for a nonce of another form than spec 5.5 allows: 1 to 128 characters from 0x21 to 0x7e.
 */
export function checkWork(challenge: string, nonce: string, difficulty: number): boolean {
  return NONCE_FORM.test(nonce) && leadingZeroBits(sha256(utf8.encode(`${challenge}:${nonce}`))) >= difficulty
}

/**
 * Finds a nonce that `checkWork` accepts. Works in slices and lets the event loop turn between them; 2^18 hashes, the
 * mean for the default difficulty, take about a quarter of a second. (Faster than WebCrypto, whose calls cost more than
 * the hash; a worker thread would only keep the slices off the main thread.)
 * @param difficulty leading zero bits, 0 to 256. @throws RangeError for another difficulty.
 */
export async function solveWork(challenge: string, difficulty: number, options: SolveOptions = {}): Promise<string> {
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > HASH_BITS) {
    throw new RangeError('a difficulty is 0 to 256 bits')
  }
  const { signal, onProgress } = options
  const expectedHashes = 2 ** difficulty
  const attempt = attempts(challenge)
  const turns = createTurns()
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
      await turns.next()
    }
  } finally {
    turns.close()
  }
}

/**
 * Hashes the challenge with one counter after another. The challenge is hashed once and its state copied, which leaves one
 * block per attempt; what is returned is overwritten by the next attempt.
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

/** Adds one to a number of ASCII digits, in place. */
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
 * Waits for the event loop to turn. Browsers hold timers back, by 4 ms when nested and by a second in a tab that nobody
 * looks at, but not messages; Node answers up to a thousand messages before it turns, and has setImmediate.
 * (Closed by hand, because not every browser knows `using` yet.)
 */
function createTurns(): { next(): Promise<void>; close(): void } {
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
