/** Work on one hot agent or board, compared with the same work spread over many agents. */
import { startBenchSystem, startGenerator } from './bench-system.ts'
import { measureStream } from './hot-stream.ts'
import { registerMany } from './load/bench-agents.ts'
import type { Work } from './load/generator.ts'
import { median } from './load/http-load.ts'
import { loaderOf, printRefused, type Round, rateOf } from './rounds.ts'

interface HotOptions {
  connections: number
  rounds: number
  secondsPerRound: number
  agents: number
}

interface Place {
  name: string
  work: Work
  /** Requests to prepare for one round. */
  count: number
  rounds: Round[]
}

/** The most boards that an agent may own (spec 8.9). */
const BOARDS_PER_OWNER = 20
const WARM_UP_SECONDS = 8

export async function benchHot({ connections, rounds, secondsPerRound, agents: count }: HotOptions): Promise<void> {
  await using system = await startBenchSystem()
  await using stack = new AsyncDisposableStack()
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const agents = await registerMany(count, system.authority)
  const load = loaderOf(generator, system, agents)
  const run = (work: Work, requests: number, seconds = secondsPerRound): Promise<Round> =>
    load(work, { connections, count: requests, seconds })

  const messages = 8_000 * secondsPerRound
  const places: Place[] = [
    {
      name: 'messages, spread over all agents',
      work: { kind: 'messages' },
      count: messages,
      rounds: [],
    },
    {
      name: 'messages to one agent',
      work: { kind: 'messages', at: 'one recipient' },
      count: messages,
      rounds: [],
    },
    {
      name: 'messages of one agent',
      work: { kind: 'messages', at: 'one sender' },
      count: messages,
      rounds: [],
    },
    {
      name: 'boards created',
      work: { kind: 'boards' },
      count: Math.floor((count * BOARDS_PER_OWNER) / rounds),
      rounds: [],
    },
  ]
  for (const { work } of places.filter(({ work: { kind } }) => kind === 'messages'))
    await run(work, 8_000 * WARM_UP_SECONDS, WARM_UP_SECONDS)
  for (let round = 0; round < rounds; round += 1) {
    for (const place of places) place.rounds.push(await run(place.work, place.count))
  }

  console.log(`${connections} connections, ${count} agents, medians of ${rounds} rounds of ${secondsPerRound} s\n`)
  console.log('| | accepted/s | p50 ms | p99 ms |\n|---|---|---|---|')
  for (const { name, rounds: own } of places) {
    const [p50, p99] = [median(own.map(({ p50Ms }) => p50Ms)), median(own.map(({ p99Ms }) => p99Ms))]
    console.log(`| ${name} | ${rateOf(own).toFixed(0)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`)
  }
  for (const { name, rounds: own } of places) printRefused(name, own)
  const { published, taken } = await measureStream()
  console.log(
    `\nWithout the services: one process publishes ${published.toFixed(0)} events a second to the stream ACCEPTED,`,
  )
  console.log(`and one process takes ${taken.toFixed(0)} a second from the consumer webhook.`)
}
