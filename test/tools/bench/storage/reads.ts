/**
 * Reads: the cost of a page compared with Fastify's fixed answer, and whether a page takes as long with a million stored
 * messages as with a thousand. Messages are stored with SQL, in the same form as an append.
 */
import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import postgres from 'postgres'
import { barChart } from '../../../support/charts/bar-chart.ts'
import { type BenchSystem, startBenchSystem, startFloor, startGenerator, stop } from '../bench-system.ts'
import { type BenchAgent, createBoard, dataOf, registerAgents, subscribe } from '../load/bench-agents.ts'
import type { Order, Work } from '../load/generator.ts'
import { median } from '../load/http-load.ts'
import { printRefused, type Round, rateOf, runRound } from '../rounds.ts'
import { storeMessages } from './store-messages.ts'

interface ReadsOptions {
  connections: number
  rounds: number
  secondsPerRound: number
  /** Stored messages at the beginning, and at the end. */
  few: number
  many: number
  /** The file for an SVG chart of the page times. */
  chart: string | undefined
}

interface Page {
  name: string
  signed: boolean
  targets: string[]
}

export async function benchReads(options: ReadsOptions): Promise<void> {
  await using system = await startBenchSystem()
  await using stack = new AsyncDisposableStack()
  const sql = stack.adopt(postgres(system.adminUrl, { max: 1, onnotice: () => {} }), (client) => client.end())
  const fixed = stack.adopt(await startFloor('fixed'), ({ child }) => stop(child))
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const url = `http://${system.authority}`
  const [reader, writer] = await registerAgents(['reader', 'writer'], system.authority)
  if (reader === undefined || writer === undefined) throw new RangeError('no agents')
  const board = await createBoard(writer, url, system.authority)
  await subscribe(reader, board, url, system.authority)
  const who = { reader: reader.agentId, writer: writer.agentId, board }

  const measure = measurement(system, generator, reader, options)
  const stored: { messages: number; times: Map<string, number>; rounds: Map<string, Round[]> }[] = []
  for (const messages of [options.few, options.many]) {
    await storeMessages(sql, who, messages)
    const pages = await pagesOf(sql, who)
    const times = new Map<string, number>()
    const rounds = new Map<string, Round[]>()
    for (const page of pages) {
      await measure(page, 1, 1)
      const idle: Round[] = []
      for (let round = 0; round < options.rounds; round += 1) idle.push(await measure(page, 1, 1))
      times.set(page.name, median(idle.map((each) => each.p50Ms)))
      rounds.set(page.name, idle)
    }
    stored.push({ messages, times, rounds })
  }
  printTimes(stored)
  if (options.chart !== undefined) {
    writeFileSync(options.chart, chartOf(stored))
    console.log(`\nchart: ${options.chart}`)
  }

  const fixedRounds: Round[] = []
  const load = (await pagesOf(sql, who)).map((page) => ({ page, rounds: [] as Round[] }))
  const runFixed = (): Promise<Round> =>
    runRound(generator, () => ({}), {
      ...orderOf({ kind: 'messages' }, reader, system, {
        connections: options.connections,
        seconds: options.secondsPerRound,
        perSecond: 1_000,
      }),
      agents: [dataOf(reader), dataOf(writer)],
      port: fixed.port,
      cycle: true,
    })
  await runFixed()
  for (let round = 0; round < options.rounds; round += 1) {
    fixedRounds.push(await runFixed())
    for (const each of load) each.rounds.push(await measure(each.page, options.connections, options.secondsPerRound))
  }
  printRates(rateOf(fixedRounds), load, options)
}

/** The measured pages. For the later ones, the cursor is in the middle of the stored messages and must be looked up. */
async function pagesOf(sql: postgres.Sql, who: { reader: string; board: string }): Promise<Page[]> {
  const [log] = await sql<{ head: string }[]>`select head from messaging.logs where id = ${who.reader}`
  const middle = Math.floor(Number(log?.head ?? 0) / 2)
  const of = (name: string, signed: boolean, target: string): Page => ({ name, signed, targets: [target] })
  return [
    of('inbox, signed, limit 1', true, '/v2/inbox?limit=1'),
    of('inbox, signed, limit 50', true, '/v2/inbox?limit=50'),
    of('unacknowledged, signed, limit 50', true, '/v2/inbox?unacked=true&limit=50'),
    of('events, signed, limit 1', true, `/v2/events?after=${middle}&limit=1`),
    of('events, signed, limit 50', true, `/v2/events?after=${middle}&limit=50`),
    of('export, signed, limit 50', true, '/v2/export?limit=50'),
    of('board feed, anonymous, limit 1', false, `/v2/boards/${who.board}/messages?limit=1`),
    of('board feed, anonymous, limit 50', false, `/v2/boards/${who.board}/messages?limit=50`),
  ]
}

function measurement(system: BenchSystem, generator: ChildProcess, reader: BenchAgent, { connections }: ReadsOptions) {
  return (page: Page, at: number, seconds: number): Promise<Round> => {
    const work: Work = { kind: 'pages', targets: page.targets, signed: page.signed }
    const perSecond = at === connections ? 9_000 : 2_000
    return runRound(generator, system.cpu, orderOf(work, reader, system, { connections: at, seconds, perSecond }))
  }
}

function orderOf(
  work: Work,
  reader: BenchAgent,
  system: BenchSystem,
  { connections, seconds, perSecond }: { connections: number; seconds: number; perSecond: number },
): Order {
  return {
    work,
    port: system.port,
    connections,
    count: perSecond * seconds,
    cycle: false,
    limitMs: seconds * 1_000,
    authority: system.authority,
    // The generator needs two agents. The first one reads.
    agents: [dataOf(reader), dataOf(reader)],
  }
}

function printTimes(stored: { messages: number; times: Map<string, number>; rounds: Map<string, Round[]> }[]): void {
  const [few, many] = stored
  if (few === undefined || many === undefined) return
  console.log('Time of a page, p50 of one connection, medians of the rounds\n')
  console.log(`| page | ms with ${few.messages} stored | ms with ${many.messages} stored | ratio |`)
  console.log('|---|---|---|---|')
  for (const [name, before] of few.times) {
    const after = many.times.get(name) ?? Number.NaN
    console.log(`| ${name} | ${before.toFixed(2)} | ${after.toFixed(2)} | ${(after / before).toFixed(2)} |`)
    printRefused(name, [...(few.rounds.get(name) ?? []), ...(many.rounds.get(name) ?? [])])
  }
}

function chartOf(stored: readonly { messages: number; times: Map<string, number> }[]): string {
  const pages = [...(stored[0]?.times.keys() ?? [])]
  return barChart({
    title: 'Time of a page, one connection',
    unit: 'p50 in ms',
    bars: stored.map(({ messages }) => `${messages.toLocaleString('en')} messages`),
    groups: pages.map((name) => ({ name, values: stored.map(({ times }) => times.get(name) ?? 0) })),
  })
}

function printRates(
  fixed: number,
  load: { page: Page; rounds: Round[] }[],
  { connections, rounds, secondsPerRound, many }: ReadsOptions,
): void {
  console.log(`\nPages in a second with ${many} stored, ${connections} connections, medians of ${rounds} rounds of`)
  console.log(`${secondsPerRound} s; Fastify's fixed answer: ${fixed.toFixed(0)}\n`)
  console.log('| page | pages/s | of Fastify | p50 ms | p99 ms |')
  console.log('|---|---|---|---|---|')
  for (const each of load) {
    const rate = rateOf(each.rounds)
    const p50 = median(each.rounds.map((round) => round.p50Ms))
    const p99 = median(each.rounds.map((round) => round.p99Ms))
    const cells = [each.page.name, rate.toFixed(0), (rate / fixed).toFixed(3), p50.toFixed(1), p99.toFixed(1)]
    console.log(`| ${cells.join(' | ')} |`)
    printRefused(each.page.name, each.rounds)
  }
}
