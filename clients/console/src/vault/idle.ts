/** Decides when an unlocked vault has been idle for too long. All tabs count together. */
export interface IdleClock {
  /** 0: never idle. */
  setLimit(ms: number): void
  /** The owner did something, here or in another tab. */
  note(): void
  stop(): void
}

interface IdleOptions {
  readonly limitMs: number
  readonly onIdle: () => void
}

/** Timers stop while a computer sleeps, so the clock is read at least this often. */
const MAX_WAIT_MS = 10_000

export function startIdleClock({ limitMs: first, onIdle }: IdleOptions): IdleClock {
  let limitMs = first
  let lastMs = Date.now()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (limitMs === 0) return
    const leftMs = lastMs + limitMs - Date.now()
    if (leftMs <= 0) onIdle()
    else timer = setTimeout(look, Math.min(leftMs, MAX_WAIT_MS))
  }
  look()
  return {
    setLimit(ms) {
      limitMs = ms
      look()
    },
    note() {
      // After a sleep the first input must not keep the vault open.
      if (limitMs > 0 && Date.now() - lastMs >= limitMs) onIdle()
      else lastMs = Date.now()
    },
    stop: () => clearTimeout(timer),
  }
}
