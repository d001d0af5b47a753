import { createHash } from 'node:crypto'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'

/** Random choices that depend only on the seed. The timing between the choices of several clients varies. */
export interface Random {
  readonly seed: number
  /** From `from` to `to`, both included. */
  int(from: number, to: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  /** @throws RangeError for an empty list. */
  pick<T>(items: readonly T[]): T
  /** One of the entries, chosen by weight. */
  weighted<T>(entries: readonly (readonly [weight: number, item: T])[]): T
  /** `count` different entries, or all if there are fewer. */
  sample<T>(items: readonly T[], count: number): T[]
  /** Lower-case hex. */
  hex(bytes: number): string
  /** A separate generator. It depends only on the seed and the name, not on the draws of other generators. */
  fork(name: string): Random
}

const RESOLUTION = 1_000_000

export function createRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed)
  const int = (from: number, to: number): number => uniformInt(generator, from, to)
  const pick = <T>(items: readonly T[]): T => {
    if (items.length === 0) throw new RangeError('the list to draw from is empty')
    return items[int(0, items.length - 1)] as T
  }
  return {
    seed,
    int,
    chance: (probability) => int(1, RESOLUTION) <= probability * RESOLUTION,
    pick,
    weighted<T>(entries: readonly (readonly [number, T])[]): T {
      let left = int(1, Math.round(entries.reduce((sum, [weight]) => sum + weight, 0) * RESOLUTION)) / RESOLUTION
      for (const [weight, item] of entries) {
        left -= weight
        if (left <= 0) return item
      }
      return pick(entries)[1]
    },
    sample<T>(items: readonly T[], count: number): T[] {
      const left = [...items]
      const drawn: T[] = []
      while (drawn.length < count && left.length > 0) drawn.push(...left.splice(int(0, left.length - 1), 1))
      return drawn
    },
    hex: (bytes) => Array.from({ length: bytes }, () => int(0, 255).toString(16).padStart(2, '0')).join(''),
    fork: (name) => createRandom(createHash('sha256').update(`${seed}:${name}`).digest().readInt32BE(0)),
  }
}
