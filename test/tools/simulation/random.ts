/** A generator of random numbers from 0 up to 1. Equal seeds give equal numbers (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** An exponentially distributed number with this mean. */
export function exponential(random: () => number, mean: number): number {
  return -mean * Math.log(1 - random())
}
