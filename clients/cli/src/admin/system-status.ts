/** The data of `svc admin status`: the processes that answer on NATS, their rates, and the queues. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ACCEPTED_STREAM } from '@svc/contracts/accepted.ts'
import type { Call, ReplyOf } from '@svc/contracts/define.ts'
import { measureStreams } from '@svc/contracts/stream.ts'
import { measureWebhooks } from '@svc/contracts/webhook.ts'
import { type ListedProcess, listProcesses } from '@svc/nats/process-stats.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import type { Operator } from './operator.ts'
import { OperatorNetworkError } from './operator-network-error.ts'

/** The services of a complete system. */
export const SERVICES = ['gateway', 'identity', 'messaging', 'boards', 'budget', 'stream', 'webhook'] as const
const ORDER: readonly string[] = SERVICES

export interface ProcessStatus {
  readonly service: string
  readonly id: string
  readonly version: string
  /** ISO date and time. */
  readonly started: string
  /** Calls per second; for a gateway, requests per second. Null if the process was not in the previous sample. */
  readonly calls_per_second: number | null
  /** Of these, the calls that ended with an internal error or `unavailable`. */
  readonly failed_per_second: number | null
  /** Mean duration of a call. */
  readonly ms_per_call: number | null
  /** Calls under way. */
  readonly working: number | null
}

export interface SystemStatus {
  readonly processes: readonly ProcessStatus[]
  /** Services without a process that answers. */
  readonly missing: readonly string[]
  /** Null if NATS or the service did not answer. */
  readonly accepted_stream: { messages: number; bytes: number; last_sequence: number } | null
  /** Figures of one process of the service. */
  readonly webhooks: ReplyOf<typeof measureWebhooks> | null
  readonly streams: ReplyOf<typeof measureStreams> | null
}

interface Sample {
  readonly atMs: number
  readonly processes: readonly ListedProcess[]
}

const MEASURE_MS = 2_000

/** Yields a status every `intervalMs`. Its rates are those between the previous sample and this one. */
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
  return { atMs, processes: await listProcesses(nats, SERVICES) }
}

function statusOf(before: Sample, now: Sample): Pick<SystemStatus, 'processes' | 'missing'> {
  const earlier = new Map(before.processes.map((process) => [process.id, process]))
  const seconds = (now.atMs - before.atMs) / 1_000
  const processes = now.processes
    .map((process) => processOf(process, earlier.get(process.id), seconds))
    .sort((a, b) => ORDER.indexOf(a.service) - ORDER.indexOf(b.service) || (a.id < b.id ? -1 : 1))
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

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

async function measure(operator: Operator): Promise<Omit<SystemStatus, 'processes' | 'missing'>> {
  const [stream, webhooks, streams] = await Promise.all([
    streamState(operator),
    answerOf(operator, measureWebhooks, {}),
    answerOf(operator, measureStreams, {}),
  ])
  return { accepted_stream: stream, webhooks, streams }
}

/** Null if the service does not answer or refuses, so that the rest of the status is still shown. */
async function answerOf<Q, R>(operator: Operator, call: Call<Q, R>, request: Q): Promise<R | null> {
  try {
    return await operator.ask(call, request, MEASURE_MS)
  } catch (error) {
    if (error instanceof OperatorNetworkError || error instanceof ApiError) return null
    throw error
  }
}

async function streamState({ nats }: Operator): Promise<SystemStatus['accepted_stream']> {
  const options = { timeout: MEASURE_MS }
  const answer = await nats.connection
    .request(`$JS.API.STREAM.INFO.${ACCEPTED_STREAM}`, undefined, options)
    // JetStream or NATS is unavailable. The rest of the status is still shown.
    .catch(() => undefined)
  const { state } = answer?.json<{ state?: { messages: number; bytes: number; last_seq: number } }>() ?? {}
  return state === undefined ? null : { messages: state.messages, bytes: state.bytes, last_sequence: state.last_seq }
}
