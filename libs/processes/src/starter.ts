/**
 * `npx pnpm start` is a chain: npx, a shell, pnpm, a shell, this process. A Ctrl-C reaches all of them. A signal to npx
 * alone, as from a script or CI, ends npx, and would leave this process running for ever.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { commandLineOf } from './marks.ts'

/** A package manager, under its own name or run by node. A shell whose command line mentions one does not count. */
const PACKAGE_MANAGER = /^(?:\S*\/)?(?:npm|npx|pnpm|yarn)\b|^\S*\bnode \S*\b(?:npm|npx|pnpm|yarn)\b/
const POLL_MS = 1_000
const MAX_CHAIN = 8

/** Calls `onGone` once when a process of the chain has ended. Never calls it if no package manager started this process. */
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

/** Lists the processes from this one upwards, each with its parent, up to the last one whose parent is a package manager. */
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
    // The second field, the name, is in parentheses and may contain any characters.
    if (process.platform === 'linux')
      return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1])
    return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }))
  } catch {
    return undefined
  }
}
