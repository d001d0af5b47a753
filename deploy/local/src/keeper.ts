/**
 * Stays beside a run and winds it up when its launcher is gone, however that died: its standard input is a pipe from
 * the launcher, and its end is the sign. Arguments: stack, run, and a folder to remove afterwards (tests alone).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { markOf, reclaim } from './marks.ts'
import { removeScratch } from './postgres-user.ts'
import { removeFolder } from './remove-folder.ts'

/** Children of a launcher that died (tests' workers) notice in less, and start nothing more then. */
const QUIET_MS = 500

const [stack = '', run = '', folder = ''] = process.argv.slice(2)

let orderly = false
process.stdin.on('error', () => {})
process.stdin.on('data', () => {
  orderly = true
})
await new Promise((resolve) => process.stdin.on('close', resolve))

// From now on a new start waits for this process instead of saying that the stack is running.
process.title = markOf({ stack, run }, 'ending')
while ((await reclaim(stack, run)).length > 0 || !orderly) {
  orderly = true
  await sleep(QUIET_MS)
}
removeScratch({ stack, run })
if (folder !== '') await removeFolder(folder)
