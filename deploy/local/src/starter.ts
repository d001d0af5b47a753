/**
 * `npx pnpm start` is a chain: npx, a shell, pnpm, a shell, this process. A Ctrl-C reaches all of them, but a signal to
 * npx alone, as a script or CI sends it, ends npx and leaves this process running with nobody to end it.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { commandLineOf } from './marks.ts'

/** By their own name, or run by node; a shell whose command line mentions one is none. */
const PACKAGE_MANAGER = /^(?:\S*\/)?(?:npm|npx|pnpm|yarn)\b|^\S*\bnode \S*\b(?:npm|npx|pnpm|yarn)\b/
const POLL_MS = 1_000
const MAX_CHAIN = 8

/** Calls `onGone` once when a link of the chain is missing; never where no package manager has started this process. */
export function watchStarter(onGone: () => void): Disposable {
  const chain = findChain(process.pid)
  const timer = setInterval(() => {
    if (chain.every(({ pid, parent }) => parentOf(pid) === parent)) return
    clearInterval(timer)
    onGone()
  }, POLL_MS)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** Each process from this one on, with its parent, up to the last whose parent is a package manager. */
function findChain(self: number): { pid: number; parent: number }[] {
  const links: { pid: number; parent: number }[] = []
  let length = 0
  for (let pid = self; links.length < MAX_CHAIN; ) {
    const parent = parentOf(pid)
    if (parent === undefined || parent <= 1) break
    links.push({ pid, parent })
    if (PACKAGE_MANAGER.test(commandLineOf(parent) ?? '')) length = links.length
    pid = parent
  }
  return links.slice(0, length)
}

function parentOf(pid: number): number | undefined {
  try {
    // The second field, the name, is in parentheses and may hold anything.
    if (process.platform === 'linux')
      return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1])
    return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }))
  } catch {
    return undefined
  }
}
