import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

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

/** Of the thread that reads or writes it, and inherited by what that starts. */
const TIMER_SLACK = '/proc/self/timerslack_ns'
const LATE_NS = 1_000_000
/** What the thread began with. */
const AS_BEFORE = 0

/**
 * Starts something whose timers may be a millisecond late (timer slack, where the system has it). While a program in Go has anything to do, its runtime wakes up
 * every 20 µs to look after it, for milliseconds, and stops somebody else's work each time; so late, it does so a tenth as often.
 */
export function withLateTimers<T>(start: () => T): T {
  setTimerSlack(LATE_NS)
  try {
    return start()
  } finally {
    setTimerSlack(AS_BEFORE)
  }
}

function setTimerSlack(ns: number): void {
  try {
    writeFileSync(TIMER_SLACK, String(ns), { flag: 'r+' })
  } catch {
    // Another system, or one that does not let us.
  }
}
