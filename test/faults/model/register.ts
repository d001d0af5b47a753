/**
 * How long after its request an unanswered attempt may still take effect, in milliseconds. This is 5 s until all callers
 * time out, 10 s during which a charge may be committed, and twice the longest pause of a process or an engine.
 */
export const LATE_MS = 45_000

interface Write<V> {
  readonly value: V
  readonly startMs: number
  /** The latest time at which the write took effect. */
  readonly doneMs: number
  readonly certain: boolean
}

/** A value with several writers. It knows which values are possible, from the times at which each write was sent and answered. */
export class Register<V> {
  readonly #writes: Write<V>[]

  constructor(initial: V) {
    const beginning = Number.NEGATIVE_INFINITY
    this.#writes = [{ value: initial, startMs: beginning, doneMs: beginning, certain: true }]
  }

  /** The write took effect between these two times. */
  wrote(value: V, startMs: number, endMs: number): void {
    this.#writes.push({ value, startMs, doneMs: endMs, certain: true })
  }

  /** It is unknown whether the write took effect. If it did, it took effect within `LATE_MS`. */
  mayHaveWritten(value: V, startMs: number): void {
    this.#writes.push({ value, startMs, doneMs: startMs + LATE_MS, certain: false })
  }

  /** Every value that was possible at some time in the interval, both ends included. */
  possible(fromMs: number, untilMs: number): Set<V> {
    const certain = this.#writes.filter((write) => write.certain && write.doneMs < fromMs)
    const latestStart = Math.max(...certain.map(({ startMs }) => startMs))
    // a write is overwritten if it ended before another completed write began
    const visible = this.#writes.filter(({ startMs, doneMs }) => startMs <= untilMs && !(doneMs < latestStart))
    return new Set(visible.map(({ value }) => value))
  }
}

/** Registers of several things with the same initial value. */
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
