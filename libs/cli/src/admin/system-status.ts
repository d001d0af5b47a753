/** What `svc admin status` shows: the processes that answer on NATS, what they do, and what waits. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ACCEPTED_STREAM } from '@svc/contracts/accepted.ts'
import { inspectOutbox } from '@svc/contracts/admin.ts'
import type { Call, ReplyOf } from '@svc/contracts/define.ts'
import { measureStreams } from '@svc/contracts/stream.ts'
import { measureWebhooks } from '@svc/contracts/webhook.ts'
import { type ListedProcess, listProcesses } from '@svc/nats/process-stats.ts'
import type { Operator } from './operator.ts'

/** Those that a whole system has; what else answers is shown too. */
export const SERVICES = ['gateway', 'identity', 'messaging', 'boards', 'budget', 'stream', 'webhook'] as const

export interface ProcessStatus {
  readonly service: string
  readonly id: string
  readonly version: string
  /** ISO date and time. */
  readonly started: string
  /** Calls each second: of a gateway requests. Null where nothing is known yet. */
  readonly calls_per_second: number | null
  /** Of these, those that ended in a fault or with something away. */
  readonly failed_per_second: number | null
  /** Mean time of a call. */
  readonly ms_per_call: number | null
  /** Under way. */
  readonly working: number | null
}

export interface SystemStatus {
  readonly processes: readonly ProcessStatus[]
  /** Services of which no process answers. */
  readonly missing: readonly string[]
  /** Null: no answer. */
  readonly outbox: Pick<ReplyOf<typeof inspectOutbox>, 'unpublished' | 'oldest_unpublished_seconds'> | null
  readonly accepted_stream: { messages: number; bytes: number; last_sequence: number } | null
  /** As one process of the service sees it. */
  readonly webhooks: ReplyOf<typeof measureWebhooks> | null
  readonly streams: ReplyOf<typeof measureStreams> | null
}

interface Sample {
  readonly atMs: number
  readonly processes: readonly ListedProcess[]
}

const MEASURE_MS = 2_000

/** Samples one after the other, `intervalMs` apart; rates are of the time between two. */
export async function* watchStatus(
  operator: Operator,
  intervalMs: number,
  signal: AbortSignal,
): AsyncGenerator<SystemStatus> {
  let before = await sample(operator)
  for (;;) {
    await sleep(intervalMs, undefined, { signal })
    const now = await sample(operator)
    yield { ...statusOf(before, now), ...(await measure(operator)) }
    before = now
  }
}

async function sample({ nats }: Operator): Promise<Sample> {
  const atMs = performance.now()
  return { atMs, processes: await listProcesses(nats) }
}

function statusOf(before: Sample, now: Sample): Pick<SystemStatus, 'processes' | 'missing'> {
  const earlier = new Map(before.processes.map((process) => [process.id, process]))
  const seconds = (now.atMs - before.atMs) / 1_000
  const processes = now.processes
    .map((process) => processOf(process, earlier.get(process.id), seconds))
    .sort((a, b) => orderOf(a.service) - orderOf(b.service) || (a.id < b.id ? -1 : 1))
  const found = new Set(processes.map(({ service }) => service))
  return { processes, missing: SERVICES.filter((service) => !found.has(service)) }
}

function processOf(
  { stats: now, ...process }: ListedProcess,
  before: ListedProcess | undefined,
  seconds: number,
): ProcessStatus {
  const then = before?.stats
  const known = now !== undefined && then !== undefined
  const calls = known ? now.calls - then.calls : 0
  return {
    ...process,
    calls_per_second: known ? rounded(calls / seconds) : null,
    failed_per_second: known ? rounded((now.failed - then.failed) / seconds) : null,
    ms_per_call: known && calls > 0 ? rounded(((now.seconds - then.seconds) * 1_000) / calls) : null,
    working: now?.working ?? null,
  }
}

/** What is not in the list comes last. */
function orderOf(service: string): number {
  return [...SERVICES, service].indexOf(service)
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

async function measure(operator: Operator): Promise<Omit<SystemStatus, 'processes' | 'missing'>> {
  const [outbox, stream, webhooks, streams] = await Promise.all([
    answerOf(operator, inspectOutbox, { before: null, limit: 0 }),
    streamState(operator),
    answerOf(operator, measureWebhooks, {}),
    answerOf(operator, measureStreams, {}),
  ])
  return {
    outbox: outbox && {
      unpublished: outbox.unpublished,
      oldest_unpublished_seconds: outbox.oldest_unpublished_seconds,
    },
    accepted_stream: stream,
    webhooks,
    streams,
  }
}

/** Who does not answer is shown as such, and is no reason to show nothing. */
async function answerOf<Q, R>(operator: Operator, call: Call<Q, R>, request: Q): Promise<R | null> {
  return operator.ask(call, request, MEASURE_MS).catch(() => null)
}

async function streamState({ nats }: Operator): Promise<SystemStatus['accepted_stream']> {
  try {
    const answer = await nats.connection.request(`$JS.API.STREAM.INFO.${ACCEPTED_STREAM}`, undefined, {
      timeout: MEASURE_MS,
    })
    const { state } = answer.json<{ state?: { messages: number; bytes: number; last_seq: number } }>()
    return state === undefined ? null : { messages: state.messages, bytes: state.bytes, last_sequence: state.last_seq }
  } catch {
    return null
  }
}
