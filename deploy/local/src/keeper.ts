/**
 * Stays beside a run and winds it up when its launcher is gone, however that died: its standard input is a pipe from
 * the launcher, and its end is the sign. Arguments: stack, run, and a folder to remove afterwards (tests alone).
 */
import { rmSync } from 'node:fs'
import { markOf, reclaim } from './marks.ts'
import { removeScratch } from './postgres-user.ts'

const [stack = '', run = '', folder = ''] = process.argv.slice(2)

process.stdin.on('error', () => {})
process.stdin.resume()
await new Promise((resolve) => process.stdin.on('close', resolve))

// From now on a new start waits for this process instead of saying that the stack is running.
process.title = markOf({ stack, run }, 'ending')
await reclaim(stack, run)
removeScratch({ stack, run })
if (folder !== '') rmSync(folder, { recursive: true, force: true })
