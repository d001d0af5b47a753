import { spawnSync } from 'node:child_process'

/**
 * Has this process, and all that it starts from now on, take turns on the processors rather than interrupt each other (the policy
 * `SCHED_BATCH` of Linux; it needs no rights). A message passes ten processes, and each that wakes up would otherwise stop
 * the one that woke it in the middle of a group. Where there is no `chrt` everything works as well, only slower.
 */
export function takeTurns(): void {
  if (process.platform === 'linux') spawnSync('chrt', ['-b', '-p', '0', String(process.pid)], { stdio: 'ignore' })
}

/**
 * Gives a process that was started since the right to interrupt others back, as one needs it that has little to do with each
 * thing and is waited for: what it was sent would lie there until its sender has nothing more to do.
 */
export function mayInterrupt(pid: number): void {
  if (process.platform === 'linux') spawnSync('chrt', ['-a', '-o', '-p', '0', String(pid)], { stdio: 'ignore' })
}
