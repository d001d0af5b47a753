/**
 * Preloaded into a process: kills it at its n-th effect on the world (SVC_TEST_KILL_AFTER), in front of it. Effects are writes to
 * files, names of files, processes that are started, and requests.
 */
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

let left = Number(process.env.SVC_TEST_KILL_AFTER)

/** An effect is about to happen. */
function pass(): void {
  left -= 1
  if (left > 0) return
  // Nothing of this process runs from here on, and no handler either.
  process.kill(process.pid, 'SIGKILL')
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
}

// biome-ignore lint/suspicious/noExplicitAny: any function of these modules
type Functions = Record<string, (...args: any[]) => unknown>

function guard(module: Functions, names: string[]): void {
  for (const name of names) {
    const original = module[name]
    if (original === undefined) throw new Error(`there is no ${name}`)
    module[name] = (...args) => {
      pass()
      return original(...args)
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
guard(childProcess as unknown as Functions, ['spawn'])
guard(globalThis as unknown as Functions, ['fetch'])
syncBuiltinESMExports()
