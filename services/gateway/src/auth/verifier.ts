import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { type VerifyKey, verifyRequestNode } from '@svc/svc1/node/verify-node.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { createRingMemory, VerifyRing } from './verify-ring.ts'

/**
 * Verifies request signatures. Verification is the largest part of the CPU that a request costs, so a second thread shares the
 * work if the machine has at least two processors. The event loop also takes signatures from the queue. So no request depends
 * on the thread, even if the thread is starved of CPU or has ended (ADR 9).
 */
export interface Verifier extends AsyncDisposable {
  /**
   * @param signature 64 bytes.
   * @param text the signed string; each character is one byte (latin1).
   * @returns whether the signature matches (spec 3.4); a promise if it is queued until the end of this tick of the event loop.
   */
  verify(signature: Uint8Array, text: string, key: VerifyKey): boolean | Promise<boolean>
}

export interface VerifierOptions {
  readonly logger: Logger
  /** Replaces the number of processors, for tests. The options below are for tests too. */
  readonly processors?: number
  readonly thread?: URL
  readonly firstTicket?: number
  readonly restartMs?: number
}

interface Waiting {
  readonly ticket: number
  readonly signature: Uint8Array
  readonly text: string
  readonly key: VerifyKey
  readonly resolve: (isValid: boolean) => void
  readonly reject: (error: unknown) => void
  /** Ticks of the event loop that have ended since it was queued. */
  turns: number
}

/** Limits of the thread's heap. Its cache of 10,000 keys and all Buffers live outside the heap. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 }

/** Wait this long before replacing a thread that has ended, so that a thread that keeps crashing does not waste CPU. */
const RESTART_MS = 10_000

const THREAD = new URL('./verify-thread.ts', import.meta.url)

export function createVerifier(options: VerifierOptions): Verifier {
  const processors = options.processors ?? availableParallelism()
  return processors < 2 ? { verify: verifyHere, [Symbol.asyncDispose]: async () => {} } : new SharedVerifier(options)
}

/** Shares the work with a second thread. */
class SharedVerifier implements Verifier {
  readonly #logger: Logger
  readonly #thread: URL
  readonly #restartMs: number
  readonly #memory: ReturnType<typeof createRingMemory>
  readonly #ring: VerifyRing
  #worker: Worker | undefined
  #restart: NodeJS.Timeout | undefined
  #waiting: Waiting[] = []

  constructor({ logger, thread = THREAD, firstTicket, restartMs = RESTART_MS }: VerifierOptions) {
    this.#logger = logger
    this.#thread = thread
    this.#restartMs = restartMs
    this.#memory = createRingMemory(firstTicket)
    this.#ring = new VerifyRing(this.#memory)
  }

  verify(signature: Uint8Array, text: string, key: VerifyKey): boolean | Promise<boolean> {
    const ticket = this.#ring.put(key.bytes, signature, text)
    if (ticket === undefined) return verifyHere(signature, text, key)
    if (this.#worker === undefined && this.#restart === undefined && this.#ring.waiting > 1) this.#startThread()
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#endTurn())
      this.#waiting.push({ ticket, signature, text, key, resolve, reject, turns: 0 })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate()
    clearTimeout(this.#restart)
  }

  /**
   * Called for the first burst and not at startup: an idle gateway does not need the thread, and starts faster without it.
   * If the thread ends, the first burst after `restartMs` starts another.
   */
  #startThread(): void {
    try {
      this.#worker = new Worker(this.#thread, { workerData: this.#memory, resourceLimits: THREAD_LIMITS })
      this.#worker.unref()
      this.#worker.on('error', (error) => this.#logEnd(error))
      this.#worker.on('exit', () => this.#startLater())
    } catch (error) {
      // The system has no threads left.
      this.#logEnd(error)
      this.#startLater()
    }
  }

  #logEnd(error: unknown): void {
    this.#logger.error(
      { err: error, restartMs: this.#restartMs },
      'the thread that verifies signatures ended: until another one starts, the event loop verifies all signatures',
    )
  }

  #startLater(): void {
    this.#restart = setTimeout(() => {
      this.#worker = undefined
      this.#restart = undefined
    }, this.#restartMs).unref()
  }

  /** Verifies the signatures that the thread has not taken, and resolves those that have a verdict. */
  #endTurn(): void {
    const byTicket = new Map(this.#waiting.map((each) => [each.ticket, each]))
    for (let ticket = this.#ring.take(); ticket !== undefined; ticket = this.#ring.take()) {
      const own = byTicket.get(ticket)
      if (own !== undefined) this.#settle(own)
    }
    const left: Waiting[] = []
    for (const each of this.#waiting) {
      let isValid = this.#ring.collect(each.ticket)
      // The thread has taken this one but has not finished it within a turn. Verify it here too rather than wait.
      if (isValid === undefined && each.turns > 0) {
        this.#settle(each)
        isValid = this.#ring.collect(each.ticket)
      }
      each.turns += 1
      if (isValid === undefined) left.push(each)
      else each.resolve(isValid)
    }
    this.#waiting = left
    if (left.length > 0) setImmediate(() => this.#endTurn())
  }

  /** An error fails only its own request. The ticket gets a verdict even then, so that its slot is freed. */
  #settle({ ticket, signature, text, key, reject }: Waiting): void {
    let isValid = false
    try {
      isValid = verifyHere(signature, text, key)
    } catch (error) {
      reject(error)
    }
    this.#ring.settle(ticket, isValid)
  }
}

function verifyHere(signature: Uint8Array, text: string, key: VerifyKey): boolean {
  return verifyRequestNode(signature, Buffer.from(text, 'latin1'), key)
}
