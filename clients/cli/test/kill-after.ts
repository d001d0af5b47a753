/**
 * Preloaded into a process. Kills the process right before its n-th effect (SVC_TEST_KILL_AFTER). Effects are writes to files,
 * changes of file names, started processes, and requests.
 */
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

let left = Number(process.env.SVC_TEST_KILL_AFTER)

/** Called before each effect. */
function pass(): void {
  left -= 1
  if (left > 0) return
  // Block this thread, so that no further code of this process runs, not even a handler.
  process.kill(process.pid, 'SIGKILL')
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
}

// biome-ignore lint/suspicious/noExplicitAny: any function of these modules
type Functions = Record<string, (...args: any[]) => unknown>

function guard(module: Functions, names: string[]): void {
  for (const name of names) {
    const original = module[name]
    if (original === undefined) throw new Error(`there is no ${name}`)
    module[name] = function (this: unknown, ...args) {
      pass()
      return original.apply(this, args)
    }
  }
}

guard(fs as unknown as Functions, [
  'openSync',
  'writeSync',
  'fsyncSync',
  'renameSync',
  'linkSync',
  'writeFileSync',
  'rmSync',
])
const handle = await open(new URL(import.meta.url))
guard(Object.getPrototypeOf(handle) as Functions, ['writeFile', 'sync'])
await handle.close()
guard(fs.promises as unknown as Functions, ['open', 'rename', 'rm'])
guard(childProcess as unknown as Functions, ['spawn'])
guard(globalThis as unknown as Functions, ['fetch'])
syncBuiltinESMExports()
