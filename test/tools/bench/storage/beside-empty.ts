import { median, percentile } from '../load/http-load.ts'
import type { Round } from '../rounds.ts'
import type { Send } from './senders.ts'

const ROUNDS = 8
/** At 2,500 messages/s the empty system stores about 100,000 in all rounds. */
const ROUND_SECONDS = 4
const WARM_UP_SECONDS = 6
/** More than most machines accept in a second. */
const PREPARED_PER_SECOND = 6_000

const FIGURES: Readonly<Record<string, (round: Round) => number>> = {
  pace: ({ accepted, elapsedMs }) => accepted / elapsedMs,
  p99: ({ p99Ms }) => p99Ms,
  'CPU of Postgres': ({ cpu, accepted }) => (cpu.postgres ?? 0) / accepted,
  'CPU of all processes': ({ cpu, accepted }) =>
    Object.entries(cpu).reduce((sum, [name, ms]) => sum + (name === 'generator' ? 0 : ms), 0) / accepted,
}

/**
 * Compares a full system with an empty one in alternating rounds. The pace of a shared machine changes within minutes, so rows
 * that are far apart say little about each other.
 */
export async function compareWithEmpty(full: Send, empty: Send): Promise<void> {
  const round = (send: Send, seconds = ROUND_SECONDS): Promise<Round> => send(seconds, seconds * PREPARED_PER_SECOND)
  for (const send of [full, empty]) await round(send, WARM_UP_SECONDS)
  const pairs: { full: Round; empty: Round }[] = []
  for (let at = 0; at < ROUNDS; at += 1) {
    const first = await round(at % 2 === 0 ? full : empty)
    const second = await round(at % 2 === 0 ? empty : full)
    pairs.push(at % 2 === 0 ? { full: first, empty: second } : { full: second, empty: first })
  }
  console.log(
    `\nIn ${ROUNDS} alternating rounds of ${ROUND_SECONDS} s, compared with an empty system (median, quartiles):\n`,
  )
  console.log('| figure | full to empty | quartiles |\n|---|---|---|')
  for (const [name, of] of Object.entries(FIGURES)) {
    const ratios = pairs.map((pair) => of(pair.full) / of(pair.empty)).toSorted((one, other) => one - other)
    const [low, high] = [percentile(ratios, 0.25), percentile(ratios, 0.75)]
    console.log(`| ${name} | ${median(ratios).toFixed(2)} | ${low.toFixed(2)} to ${high.toFixed(2)} |`)
  }
}
