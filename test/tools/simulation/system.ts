/**
 * The path of a direct message between two known agents (docs/architecture.md), as a network of queues: processes with one
 * thread, shared cores, natural batches, and commits that wait for the disk. Its inputs are measured values (inputs.ts) and
 * a seed.
 */
import { createAgenda } from './events.ts'
import { LATENCY_MS, MEASURED, type Piece, POSTGRES_PARTS } from './inputs.ts'
import { exponential, seeded } from './random.ts'
import { type Batcher, createBatches, createCores, createProcess, type Process } from './stations.ts'

export interface Setting {
  /** The cores that everything runs on, including Postgres and NATS. */
  readonly cores: number
  /** Processes of each service. */
  readonly processes: Readonly<Record<'gateway' | 'identity' | 'messaging' | 'budget' | 'webhook', number>>
  /** Closed: this many clients send, each one again after its answer. Open: this many requests arrive per second, whatever happens. */
  readonly load: { readonly clients: number } | { readonly perSecond: number }
  readonly seconds: number
  readonly seed: number
}

export interface Outcome {
  readonly acceptedPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly meanMs: number
  /** The share of the cores' time that is used. */
  readonly utilisation: number
  /** CPU milliseconds of one message, all components together. */
  readonly cpuMs: number
  /** Mean batch sizes. */
  readonly batches: Readonly<Record<'nonce' | 'reserve' | 'append', number>>
  /** Messages under way at the end. */
  readonly left: number
}

type Transaction = keyof typeof POSTGRES_PARTS

/**
 * The share of a transaction's cost that does not depend on the number of items, at the batch sizes of 64 connections. A
 * reservation takes 270 µs alone, and 16 µs in large batches (RESERVE_US).
 */
export const FIXED_SHARE = 0.55
export const CALIBRATION_BATCH = 8
/** Results count only from this time on. */
const WARM_SHARE = 0.2

export function simulate({ cores: coreCount, processes, load, seconds, seed }: Setting): Outcome {
  const agenda = createAgenda()
  const random = seeded(seed)
  const cores = createCores(agenda, coreCount)
  const team = (piece: keyof typeof processes): Process[] =>
    Array.from({ length: processes[piece] }, () => createProcess(cores))
  const teams = {
    gateway: team('gateway'),
    identity: team('identity'),
    messaging: team('messaging'),
    budget: team('budget'),
    webhook: team('webhook'),
  }
  const oneOf = <T>(all: readonly T[]): T => {
    const one = all[Math.floor(random() * all.length)]
    if (one === undefined) throw new RangeError('a service without a process')
    return one
  }

  const cost = (piece: Piece, share = 1): number => MEASURED.cpuMs[piece] * share
  /** One of the six NATS messages that each direct message needs. */
  const hop = (done: () => void): void =>
    cores.work(cost('nats', 1 / 6), () => agenda.after(exponential(random, LATENCY_MS.network), done))
  /** Uses Postgres's CPU on any core, then waits for the disk, which costs no CPU. With `soon`, it does not wait for the disk. */
  const transact = (kind: Transaction, size: number, soon: boolean, done: () => void): void => {
    const each = cost('postgres', POSTGRES_PARTS[kind])
    const ms = each * (1 - FIXED_SHARE) * size + each * FIXED_SHARE * CALIBRATION_BATCH
    cores.work(ms, () => (soon ? done() : agenda.after(exponential(random, LATENCY_MS.sync), done)))
  }
  const batchesOf = (piece: keyof typeof processes, kind: Transaction, soon = false): Batcher[] =>
    teams[piece].map(() => createBatches((size, done) => transact(kind, size, soon, done)))

  const nonces = batchesOf('identity', 'nonce')
  const reserves = batchesOf('budget', 'reserve')
  const settles = batchesOf('budget', 'settle', true)
  const appends = batchesOf('messaging', 'append')
  const publications = batchesOf('messaging', 'publish', true)

  const latencies: number[] = []
  const warmMs = seconds * 1_000 * WARM_SHARE
  let accepted = 0
  let begun = 0
  let ended = 0
  let busyAtWarmMs = 0
  agenda.after(warmMs, () => {
    busyAtWarmMs = cores.busyMs
  })

  function send(answered: () => void): void {
    begun += 1
    const sentMs = agenda.now
    const gateway = oneOf(teams.gateway)
    const answer = (): void =>
      gateway.work(cost('gateway', 0.3), () => {
        ended += 1
        if (agenda.now >= warmMs) {
          accepted += 1
          latencies.push(agenda.now - sentMs)
        }
        answered()
      })
    cores.work(cost('generator'), () =>
      gateway.work(cost('gateway', 0.7), () => {
        // The nonce is consumed while the cost is reserved. The append waits for both.
        let awaited = 2
        const meet = (): void => {
          awaited -= 1
          if (awaited === 0) append(answer)
        }
        hop(() => oneOf(teams.identity).work(cost('identity'), () => oneOf(nonces).add(meet)))
        hop(() =>
          oneOf(teams.messaging).work(cost('messaging', 0.3), () =>
            hop(() => oneOf(teams.budget).work(cost('budget', 0.7), () => oneOf(reserves).add(meet))),
          ),
        )
      }),
    )
  }

  function append(answer: () => void): void {
    hop(() =>
      oneOf(teams.messaging).work(cost('messaging', 0.5), () =>
        oneOf(appends).add(() => {
          answer()
          afterwards()
        }),
      ),
    )
  }

  /** Background work: no answer waits for it, but it uses the cores. */
  function afterwards(): void {
    oneOf(teams.messaging).work(cost('messaging', 0.2), () =>
      hop(() => oneOf(teams.webhook).work(cost('webhook'), () => oneOf(publications).add(() => {}))),
    )
    hop(() => oneOf(teams.budget).work(cost('budget', 0.3), () => oneOf(settles).add(() => {})))
  }

  if ('clients' in load) {
    const again = (): void => send(again)
    for (let client = 0; client < load.clients; client += 1) again()
  } else {
    const arrive = (): void => {
      send(() => {})
      agenda.after(exponential(random, 1_000 / load.perSecond), arrive)
    }
    arrive()
  }
  agenda.run(seconds * 1_000)

  const countedSeconds = seconds * (1 - WARM_SHARE)
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  const busyMs = cores.busyMs - busyAtWarmMs
  return {
    acceptedPerSecond: accepted / countedSeconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    meanMs: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length,
    utilisation: busyMs / (countedSeconds * 1_000 * coreCount),
    cpuMs: busyMs / accepted,
    batches: { nonce: meanSize(nonces), reserve: meanSize(reserves), append: meanSize(appends) },
    left: begun - ended,
  }
}

function meanSize(batchers: readonly Batcher[]): number {
  const runs = batchers.reduce((sum, each) => sum + each.runs, 0)
  return batchers.reduce((sum, each) => sum + each.items, 0) / runs
}
