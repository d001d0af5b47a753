/** Slow computations, in a worker thread, so that the page stays responsive. */
import type { KdfParameters } from '../vault/header.ts'
import type { Task, TaskResult, WorkProgress } from './task.ts'

interface SolveOptions {
  /** Ends the worker at once. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called about 80 times a second. */
  readonly onProgress?: ((progress: WorkProgress) => void) | undefined
}

/** Finds a nonce for a challenge. Give it to `client.register(name, { solve: solveInWorker, onProgress, signal })`. */
export async function solveInWorker(
  challenge: string,
  difficulty: number,
  options: SolveOptions = {},
): Promise<string> {
  return (await runTask({ kind: 'solve', challenge, difficulty }, options)) as string
}

/** Derives the key of a passphrase. The vault does it; views need not. */
export async function deriveInWorker(passphrase: string, parameters: KdfParameters): Promise<Uint8Array<ArrayBuffer>> {
  return (await runTask({ kind: 'derive', passphrase, parameters }, {})) as Uint8Array<ArrayBuffer>
}

function runTask(task: Task, { signal, onProgress }: SolveOptions): Promise<string | Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const worker = new Worker(trustedAddress(), { type: 'module' })
    const end = (settle: () => void): void => {
      worker.terminate()
      signal?.removeEventListener('abort', cancel)
      settle()
    }
    const cancel = (): void => end(() => reject(signal?.reason))
    signal?.addEventListener('abort', cancel)
    worker.onmessage = ({ data }: MessageEvent<TaskResult>) => {
      if (data.kind === 'progress') onProgress?.(data.progress)
      else if (data.kind === 'done') end(() => resolve(data.value))
      else end(() => reject(new Error(data.message)))
    }
    worker.onerror = () => end(() => reject(new Error('the worker could not be loaded: reload the page')))
    worker.postMessage(task)
  })
}

let trusted: string | undefined

/** The policy of the page lets only this one trusted type through: the address of the console's own worker. */
function trustedAddress(): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  trusted ??=
    trustedTypes?.createPolicy('svc-worker', { createScriptURL: () => WORKER_URL }).createScriptURL('') ?? WORKER_URL
  return trusted
}

/** The part of the Trusted Types API that is used here. Its values stand for strings. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string }
}
