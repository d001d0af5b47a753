/** The worker thread: one task per worker. The page ends the worker to cancel its task. */
import { argon2id } from '@noble/hashes/argon2.js'
import { solveWork } from '@svc/svc1/pow.ts'
import type { Task, TaskResult } from './task.ts'

const KEY_BYTES = 32

addEventListener('message', ({ data }: MessageEvent<Task>) => {
  run(data).then(
    (value) => postMessage({ kind: 'done', value } satisfies TaskResult),
    (error: unknown) => postMessage({ kind: 'failed', message: String(error) } satisfies TaskResult),
  )
})

async function run(task: Task): Promise<string | Uint8Array<ArrayBuffer>> {
  if (task.kind === 'solve') {
    const onProgress = (progress: { hashes: number; expectedHashes: number }): void =>
      postMessage({ kind: 'progress', progress } satisfies TaskResult)
    return solveWork(task.challenge, task.difficulty, { onProgress })
  }
  const { salt, memoryKiB, passes, lanes } = task.parameters
  const options = { t: passes, m: memoryKiB, p: lanes, dkLen: KEY_BYTES }
  return Uint8Array.from(argon2id(new TextEncoder().encode(task.passphrase), salt, options))
}
