/** `npx pnpm bench [send|reads|posts|live|streams|idle|webhooks|storage]`: figures with the floors they are compared to, in one run. */
import { parseArgs } from 'node:util'
import { benchIdleStreams, benchLive, benchStreams } from './live.ts'
import { benchWebhooks } from './live-webhooks.ts'
import { benchOverload } from './overload.ts'
import { benchPosts } from './posts.ts'
import { benchReads } from './reads.ts'
import { benchSend } from './send.ts'
import { benchStorage } from './storage.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    connections: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    agents: { type: 'string', default: '256' },
    times: { type: 'string', default: '3' },
    few: { type: 'string', default: '1000' },
    many: { type: 'string', default: '1000000' },
  },
})

const options = {
  connections: Number(values.connections),
  rounds: Number(values.rounds),
  secondsPerRound: Number(values.seconds),
}
const benchmarks: Record<string, () => Promise<void>> = {
  send: () => benchSend({ ...options, agents: Number(values.agents) }),
  reads: () => benchReads({ ...options, few: Number(values.few), many: Number(values.many) }),
  posts: () => benchPosts(options),
  live: () => benchLive(options),
  overload: () => benchOverload({ ...options, agents: Number(values.agents), times: Number(values.times) }),
  streams: () => benchStreams(options),
  idle: () => benchIdleStreams(),
  webhooks: () => benchWebhooks(options),
  storage: () => benchStorage(options),
}

const name = positionals[0] ?? 'send'
const run = benchmarks[name]
if (run === undefined) {
  console.error(`no such benchmark: ${name}; there are: ${Object.keys(benchmarks).join(', ')}`)
  process.exit(2)
}
await run()
process.exit(0)
