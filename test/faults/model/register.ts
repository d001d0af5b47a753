/**
 * How long after its request an attempt may still take effect whose answer was not heard, in milliseconds: 5 s until it
 * is given up by everybody who waits, 10 s that a charge may be committed, and the time that a process or an engine is
 * stopped at most, twice.
 */
export const LATE_MS = 45_000

interface Write<V> {
  readonly value: V
  readonly startMs: number
  /** When it was done at the latest. */
  readonly doneMs: number
  readonly certain: boolean
}

/** A value that several wrote, and which ones it may have had, given when each write was asked for and answered. */
export class Register<V> {
  readonly #writes: Write<V>[]

  constructor(initial: V) {
    const beginning = Number.NEGATIVE_INFINITY
    this.#writes = [{ value: initial, startMs: beginning, doneMs: beginning, certain: true }]
  }

  /** It was done between the two. */
  wrote(value: V, startMs: number, endMs: number): void {
    this.#writes.push({ value, startMs, doneMs: endMs, certain: true })
  }

  /** Nobody knows whether it was done; if so, within `LATE_MS`. */
  mayHaveWritten(value: V, startMs: number): void {
    this.#writes.push({ value, startMs, doneMs: startMs + LATE_MS, certain: false })
  }

  /** Every value that it can have had at some time between the two, both included. */
  possible(fromMs: number, untilMs: number): Set<V> {
    const certain = this.#writes.filter((write) => write.certain && write.doneMs < fromMs)
    const latestStart = Math.max(...certain.map(({ startMs }) => startMs))
    // What was done before another write began that was done before, is overwritten.
    const visible = this.#writes.filter(({ startMs, doneMs }) => startMs <= untilMs && !(doneMs < latestStart))
    return new Set(visible.map(({ value }) => value))
  }
}

/** The registers of several things, each with the same initial value. */
export class Registers<V> {
  readonly #initial: V
  readonly #registers = new Map<string, Register<V>>()

  constructor(initial: V) {
    this.#initial = initial
  }

  of(...key: string[]): Register<V> {
    const name = key.join(' ')
    const found = this.#registers.get(name)
    if (found !== undefined) return found
    const made = new Register(this.#initial)
    this.#registers.set(name, made)
    return made
  }
}
