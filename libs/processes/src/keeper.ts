/**
 * Runs beside a stack and cleans up when its launcher has ended, for whatever reason. Its standard input is a pipe from the
 * launcher; the end of the pipe is the signal. Arguments: stack, run, and a folder to remove afterwards (tests only).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { markOf, reclaim } from './marks.ts'
import { removeFolder } from './remove-folder.ts'
import { removeScratch } from './scratch.ts'

/** Children of a dead launcher (workers of tests) notice its death sooner than this, and then start no more processes. */
const QUIET_MS = 500

const [stack = '', run = '', folder = ''] = process.argv.slice(2)

let orderly = false
process.stdin.on('error', () => {})
process.stdin.on('data', () => {
  orderly = true
})
await new Promise((resolve) => process.stdin.on('close', resolve))

// From now on a new start waits for this process instead of reporting that the stack is running.
process.title = markOf({ stack, run }, 'ending')
while ((await reclaim(stack, run)).length > 0 || !orderly) {
  orderly = true
  await sleep(QUIET_MS)
}
removeScratch({ stack, run })
if (folder !== '') await removeFolder(folder)
