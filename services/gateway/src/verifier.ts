import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { type VerifyKey, verifyRequestNode } from '@svc/svc1/verify-node.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { createRingMemory, VerifyRing } from './domain/verify-ring.ts'

/**
 * Verifies request signatures, on a second thread as well where there is a processor for it: verification is the largest part
 * of what a request costs a gateway. The event loop takes its own share of what waits, so nothing waits for that thread: not
 * where its processor has other work, nor where it is gone.
 */
export interface Verifier extends AsyncDisposable {
  /**
   * @param signature 64 bytes.
   * @param text what was signed, its characters as bytes (latin1).
   * @returns whether it matches (spec 3.4); a promise where it waits with others for the end of this turn.
   */
  verify(signature: Uint8Array, text: string, key: VerifyKey): boolean | Promise<boolean>
}

export interface VerifierOptions {
  readonly logger: Logger
  /** Other than the number of processors, for tests; so are those below. */
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
  /** Turns that have ended since it was put in. */
  turns: number
}

/** Of its heap: what a verification needs. The 10,000 keys that it keeps are outside, as are Buffers. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 }

/** A thread that has ended is not replaced before, so that one which cannot run does not take the processor from what can. */
const RESTART_MS = 10_000

const THREAD = new URL('./verify-thread.ts', import.meta.url)

export function createVerifier({
  logger,
  processors = availableParallelism(),
  thread = THREAD,
  firstTicket,
  restartMs = RESTART_MS,
}: VerifierOptions): Verifier {
  if (processors < 2) return { verify: verifyHere, [Symbol.asyncDispose]: async () => {} }
  const memory = createRingMemory(firstTicket)
  const ring = new VerifyRing(memory)
  let worker: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let waiting: Waiting[] = []

  return {
    verify(signature, text, key) {
      const ticket = ring.put(key.bytes, signature, text)
      if (ticket === undefined) return verifyHere(signature, text, key)
      if (worker === undefined && restart === undefined && ring.waiting > 1) worker = startThread()
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(endTurn)
        waiting.push({ ticket, signature, text, key, resolve, reject, turns: 0 })
      })
    },
    async [Symbol.asyncDispose]() {
      await worker?.terminate()
      clearTimeout(restart)
    },
  }

  /** A gateway with little to do has no need of it, and starts sooner. Where it ends, a burst after a while starts another. */
  function startThread(): Worker | undefined {
    try {
      const started = new Worker(thread, { workerData: memory, resourceLimits: THREAD_LIMITS })
      started.unref()
      started.on('error', report)
      started.on('exit', startLater)
      return started
    } catch (error) {
      // The system has no more threads to give.
      report(error)
      startLater()
      return undefined
    }
  }

  function report(error: unknown): void {
    logger.error(
      { err: error, restartMs },
      'the thread for signatures ended: until another starts the event loop verifies all',
    )
  }

  function startLater(): void {
    restart = setTimeout(() => {
      worker = undefined
      restart = undefined
    }, restartMs).unref()
  }

  /** Takes what the thread has not, and answers. */
  function endTurn(): void {
    const byTicket = new Map(waiting.map((each) => [each.ticket, each]))
    for (let ticket = ring.take(); ticket !== undefined; ticket = ring.take()) {
      const own = byTicket.get(ticket)
      if (own !== undefined) settle(own)
    }
    const left: Waiting[] = []
    for (const each of waiting) {
      let isValid = ring.collect(each.ticket)
      // The thread is at it: what it does not finish within a turn is not waited for, and verified twice.
      if (isValid === undefined && each.turns > 0) {
        settle(each)
        isValid = ring.collect(each.ticket)
      }
      each.turns += 1
      if (isValid === undefined) left.push(each)
      else each.resolve(isValid)
    }
    waiting = left
    if (waiting.length > 0) setImmediate(endTurn)
  }

  /** What goes wrong is one request's; its ticket has a verdict all the same, so that its slot is free again. */
  function settle({ ticket, signature, text, key, reject }: Waiting): void {
    let isValid = false
    try {
      isValid = verifyHere(signature, text, key)
    } catch (error) {
      reject(error)
    }
    ring.settle(ticket, isValid)
  }
}

function verifyHere(signature: Uint8Array, text: string, key: VerifyKey): boolean {
  return verifyRequestNode(signature, Buffer.from(text, 'latin1'), key)
}
