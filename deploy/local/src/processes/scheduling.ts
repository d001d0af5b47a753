import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

/**
 * Runs this process and its later children under the Linux policy `SCHED_BATCH` (which needs no rights), so that a process
 * that wakes up does not preempt the one that woke it. A message passes through ten processes, and each preemption would
 * interrupt a batch. Without `chrt` everything works too, but more slowly.
 */
export function takeTurns(): void {
  if (process.platform === 'linux') spawnSync('chrt', ['-b', '-p', '0', String(process.pid)], { stdio: 'ignore' })
}

/**
 * Gives a process that is already running the right to preempt again. Use it for a process that does little work per
 * message and that others wait for. Otherwise messages would wait for it until their sender is idle.
 */
export function mayInterrupt(pid: number): void {
  if (process.platform === 'linux') spawnSync('chrt', ['-a', '-o', '-p', '0', String(pid)], { stdio: 'ignore' })
}

/** Applies to the thread that opens the file, and is inherited by its children. */
const TIMER_SLACK = '/proc/self/timerslack_ns'
const LATE_NS = 1_000_000
/** Resets the slack to the thread's initial value. */
const AS_BEFORE = 0

/**
 * Starts a process whose timers may be a millisecond late, if the system supports timer slack. While a Go program has work,
 * its runtime wakes up every 20 µs for several milliseconds, and interrupts another process each time. With the slack, it
 * wakes up a tenth as often.
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
    // The system has no timer slack, or denies access to it.
  }
}
