/**
 * Event streams. Measures the time from the acceptance of a message to its delivery, compared with a floor of one process
 * that forwards Postgres's notifications. Also measures how much open streams slow down sending.
 */
import type { ChildProcess } from 'node:child_process'
import { type BenchSystem, startBenchSystem, startFloor, startGenerator, stop } from '../bench-system.ts'
import { type BenchAgent, dataOf, registerMany } from '../load/bench-agents.ts'
import { median } from '../load/http-load.ts'
import { cpuMs } from '../process-cpu.ts'
import { cpuPerRequest, loaderOf, type Round, rateOf } from '../rounds.ts'
import type { LiveOrder, LiveReport } from './live-client.ts'
import { askClient, CLOSED_MS, delay, type LiveOptions, QUIET_MS, startClient } from './live-client-process.ts'

const STREAMS = 200

type Sent = Extract<LiveReport, { kind: 'sent' }>

export async function benchStreams(options: LiveOptions): Promise<void> {
  const { rounds, secondsPerRound } = options
  await using system = await startBenchSystem()
  await using stack = new AsyncDisposableStack()
  const agents = await registerMany(STREAMS, system.authority)
  const floor = stack.adopt(await startNotifyFloor(system, agents), ({ child }) => stop(child))
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const [client, floorClient] = [startClient(), startClient()].map((child) => stack.adopt(child, (c) => void c.kill()))
  if (client === undefined || floorClient === undefined) throw new Error('no clients')

  const cpu = (): Record<string, number> => ({ ...system.cpu(), reader: cpuMs(client.pid ?? 0) })
  const load = (): Promise<Round> =>
    loaderOf(
      generator,
      { ...system, cpu },
      agents,
    )(
      { kind: 'messages' },
      { connections: options.connections, count: 12_000 * secondsPerRound, seconds: secondsPerRound },
    )
  await load() // warm-up: every pair is known
  const of = { authority: system.authority, agents: agents.map(dataOf) }
  await askClient(floorClient, { kind: 'open', port: floor.port, ...of })
  const [without, withStreams]: [Round[], Round[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    without.push(await load())
    await delay(QUIET_MS)
    await askClient(client, { kind: 'open', port: system.port, ...of })
    withStreams.push(await load())
    await askClient(client, { kind: 'close' })
    await delay(CLOSED_MS)
  }
  await askClient(client, { kind: 'open', port: system.port, ...of })

  const throughput = rateOf(without)
  const shares = [0.25, 0.75].map((share) => ({ share, system: [] as Sent[], floor: [] as Sent[] }))
  for (let round = 0; round < rounds; round += 1) {
    for (const each of shares) {
      const order = { kind: 'send', perSecond: throughput * each.share, seconds: secondsPerRound, ...of } as const
      each.system.push(await send(client, { ...order, port: system.port }))
      each.floor.push(await send(floorClient, { ...order, port: floor.port }))
    }
  }
  console.log(`${STREAMS} open streams, medians of ${rounds} rounds of ${secondsPerRound} s; sending at most`)
  console.log(`${throughput.toFixed(0)}/s with no stream open, ${options.connections} connections\n`)
  printDelivery(shares, throughput)
  const ratio = median(withStreams.map((round, at) => rateOf([round]) / rateOf(without.slice(at, at + 1))))
  console.log(`Sending with the streams open: ${rateOf(withStreams).toFixed(0)}/s, ${ratio.toFixed(2)} of without`)
  console.log(`CPU milliseconds for each accepted message, without and with streams: ${cpuOf(without, withStreams)}`)
}

/** A table of delivery times, of the system and of the floor. */
function printDelivery(shares: readonly { share: number; system: Sent[]; floor: Sent[] }[], throughput: number): void {
  console.log(
    '| from acceptance to delivery | sent/s | p50 ms | p99 ms | floor p50 ms | floor p99 ms | p99 of the floor |',
  )
  console.log('|---|---|---|---|---|---|---|')
  for (const { share, system: ours, floor: floors } of shares) {
    const [p50, p99, f50, f99] = [
      median(ours.map((each) => each.p50Ms)),
      median(ours.map((each) => each.p99Ms)),
      median(floors.map((each) => each.p50Ms)),
      median(floors.map((each) => each.p99Ms)),
    ]
    const cells = [
      `${share * 100} % of that`,
      (throughput * share).toFixed(0),
      p50.toFixed(1),
      p99.toFixed(1),
      f50.toFixed(1),
      f99.toFixed(1),
      (p99 / f99).toFixed(1),
    ]
    console.log(`| ${cells.join(' | ')} |`)
    const [accepted, delivered] = [sum(ours, 'accepted'), sum(ours, 'delivered')]
    if (delivered < accepted) console.log(`\n${accepted - delivered} of ${accepted} were not delivered in time`)
  }
}

/** `gateway 0.145 0.168, …`: the processes for which the streams make a visible difference. */
function cpuOf(without: Round[], withStreams: Round[]): string {
  const [before, after] = [cpuPerRequest(without), cpuPerRequest(withStreams)]
  const names = Object.keys(after).filter((name) => Math.abs((after[name] ?? 0) - (before[name] ?? 0)) >= 0.005)
  return names.map((name) => `${name} ${before[name]?.toFixed(3)} ${after[name]?.toFixed(3)}`).join(', ')
}

async function startNotifyFloor(system: BenchSystem, agents: BenchAgent[]) {
  const hex = (agent: BenchAgent): string => Buffer.from(agent.publicKey).toString('hex')
  return startFloor('notify', {
    FLOOR_DATABASE_URL: system.adminUrl,
    FLOOR_AUTHORITY: system.authority,
    FLOOR_ENGINE: 'libsodium',
    FLOOR_KEYS: JSON.stringify(Object.fromEntries(agents.map((agent) => [agent.agentId, hex(agent)]))),
    FLOOR_NAMES: JSON.stringify(Object.fromEntries(agents.map((agent) => [agent.agentId, agent.name]))),
  })
}

async function send(client: ChildProcess, order: LiveOrder): Promise<Sent> {
  const report = await askClient(client, order)
  if (report.kind !== 'sent') throw new Error('this is not the expected kind of report')
  return report
}

function sum(reports: Sent[], member: 'accepted' | 'delivered'): number {
  return reports.reduce((total, report) => total + report[member], 0)
}
