import { duration } from '../output/format.ts'
import { table } from '../output/output.ts'
import { type ProcessStatus, SERVICES, type SystemStatus } from './system-status.ts'

/** @param each adds a line for each process below the line of its service. */
export function statusLines(status: SystemStatus, each: boolean, nowMs = Date.now()): string[] {
  const groups = Map.groupBy(status.processes, ({ service }) => service)
  const names = [...new Set<string>([...SERVICES, ...groups.keys()])]
  const rows = names.flatMap((service) => {
    const own = groups.get(service) ?? []
    return [serviceRow(service, own, nowMs), ...(each ? own.map((process) => processRow(process, nowMs)) : [])]
  })
  const head = ['service', 'processes', 'version', 'up for', 'calls/s', 'failed/s', 'ms each', 'working']
  return [...table([head, ...rows]), '', ...lagLines(status)]
}

function serviceRow(service: string, own: readonly ProcessStatus[], nowMs: number): string[] {
  if (own.length === 0) return [service, '0', 'NOT RUNNING', '', '', '', '', '']
  const calls = sum(own.map((each) => each.calls_per_second))
  const spent = sum(own.map((each) => (each.ms_per_call ?? 0) * (each.calls_per_second ?? 0)))
  return [
    service,
    String(own.length),
    [...new Set(own.map(({ version }) => version))].join(' '),
    upFor(own.map(({ started }) => started).toSorted()[0] ?? '', nowMs),
    figure(calls),
    figure(sum(own.map((each) => each.failed_per_second))),
    calls > 0 ? figure(spent / calls) : '',
    figure(sum(own.map((each) => each.working))),
  ]
}

function processRow(process: ProcessStatus, nowMs: number): string[] {
  const { id, version, started, calls_per_second, failed_per_second, ms_per_call, working } = process
  return [
    `  ${id.slice(-8)}`,
    '',
    version,
    upFor(started, nowMs),
    ...[calls_per_second, failed_per_second, ms_per_call, working].map((value) =>
      value === null ? '' : figure(value),
    ),
  ]
}

function lagLines({ accepted_stream: stream, webhooks, streams }: SystemStatus): string[] {
  const none = 'no answer'
  const lag = webhooks?.consumer_lag ?? null
  return table([
    [
      'stream ACCEPTED',
      stream ? `${stream.messages} events, ${figure(stream.bytes / 2 ** 20)} MiB, up to ${stream.last_sequence}` : none,
    ],
    [
      'webhooks',
      webhooks
        ? `the oldest due delivery has waited ${figure(webhooks.oldest_due_seconds)} s, ${lag === null ? 'the stream is unavailable' : `${lag} events behind`}, ${webhooks.in_flight} under way in one process`
        : none,
    ],
    [
      'streams',
      streams
        ? `in one process: ${streams.open} open, room for ${streams.room}, at most ${streams.most_behind} events behind`
        : none,
    ],
  ])
}

function upFor(started: string, nowMs: number): string {
  const sinceMs = Date.parse(started)
  return Number.isNaN(sinceMs) ? '' : duration(Math.max(0, Math.round((nowMs - sinceMs) / 1_000)))
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}

function figure(value: number): string {
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1)
}
