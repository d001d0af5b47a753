/** `npx pnpm bench [<name>]`: measures the system and the floors that it is compared with, in one run. */
import { readCommandLine } from '../../support/run/command-line.ts'
import { benchCompare } from './compare.ts'
import { benchFailover } from './failover.ts'
import { benchHostile } from './hostile/hostile.ts'
import { benchHot } from './hot.ts'
import { benchIdleStreams } from './live/idle.ts'
import { benchStreams } from './live/live.ts'
import { benchWebhooks } from './live/live-webhooks.ts'
import { benchOverload } from './overload.ts'
import { benchPosts } from './posts.ts'
import { benchSend } from './send.ts'
import { benchStart } from './start.ts'
import { benchReads } from './storage/reads.ts'
import { benchSteady } from './storage/steady.ts'
import { benchStorage } from './storage/storage.ts'

const BENCHMARKS = [
  'send',
  'compare',
  'reads',
  'posts',
  'overload',
  'hostile',
  'hot',
  'streams',
  'idle',
  'webhooks',
  'storage',
  'steady',
  'failover',
  'start',
] as const

const { values, names } = readCommandLine({
  command: 'npx pnpm bench',
  does: 'Measures the system, and the floors to compare it with, in one run.',
  options: {
    connections: {
      kind: 'number',
      whole: true,
      min: 1,
      default: 64,
      what: 'number of clients; each sends one request at a time',
    },
    rounds: {
      kind: 'number',
      whole: true,
      min: 1,
      default: 5,
      what: 'number of rounds; the results are their medians',
    },
    seconds: { kind: 'number', min: 0.1, default: 4, what: 'duration of each round' },
    agents: {
      kind: 'number',
      whole: true,
      min: 1,
      default: 256,
      what: 'send, overload: agents that write to each other',
    },
    times: { kind: 'number', default: 3, what: 'overload: offered load, as a multiple of the capacity' },
    few: { kind: 'number', whole: true, min: 1, default: 1_000, what: 'reads: stored messages at first' },
    messages: {
      kind: 'number',
      whole: true,
      min: 1,
      default: 3_000_000,
      what: 'steady: ends when this many are accepted',
    },
    ttl: {
      kind: 'number',
      whole: true,
      min: 0,
      default: 0,
      what: 'steady: seconds until a message expires, at least 30; with 0 it does not expire',
    },
    every: { kind: 'number', whole: true, min: 1, default: 1, what: 'steady: prints each n-th row' },
    chart: { kind: 'text', placeholder: 'file', what: 'send, reads, steady: writes an SVG chart to this file' },
    with: {
      kind: 'text',
      placeholder: 'variants',
      what: 'compare, start: folders of other checkouts; compare: or settings (SVC_REPLICAS=gateway:2); separated by spaces',
    },
    stored: {
      kind: 'number',
      whole: true,
      min: 0,
      default: 0,
      what: 'compare: messages that each variant stores beforehand',
    },
    many: { kind: 'number', whole: true, min: 1, default: 1_000_000, what: 'reads: stored messages in the end' },
  },
  names: { of: BENCHMARKS, what: 'default: send' },
})

const {
  connections,
  rounds,
  seconds: secondsPerRound,
  agents,
  times,
  few,
  many,
  messages,
  ttl,
  every,
  chart,
  stored,
  with: variants = '',
} = values
const options = { connections, rounds, secondsPerRound }
const benchmarks: Record<(typeof BENCHMARKS)[number], () => Promise<unknown>> = {
  send: () => benchSend({ ...options, agents, chart }),
  compare: () => benchCompare({ ...options, agents, stored, with: variants }),
  reads: () => benchReads({ ...options, few, many, chart }),
  posts: () => benchPosts(options),
  overload: () => benchOverload({ ...options, agents, times }),
  hot: () => benchHot({ ...options, agents }),
  hostile: () => benchHostile(options),
  streams: () => benchStreams(options),
  idle: () => benchIdleStreams(),
  webhooks: () => benchWebhooks(options),
  storage: () => benchStorage(options),
  failover: () => benchFailover(options),
  start: () => benchStart({ rounds, with: variants }),
  steady: () => benchSteady({ connections, agents, messages, ttlSeconds: ttl, every, chart }),
}

const held = await benchmarks[BENCHMARKS.find((name) => name === names[0]) ?? 'send']()
// Only a benchmark with bounds returns whether they held.
process.exit(held === false ? 1 : 0)
