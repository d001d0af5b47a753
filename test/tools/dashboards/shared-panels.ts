/** Panels that the dashboards of several services have. Each is limited to its service. */
import { type Panel, redFrom } from './board.ts'
import { mean, perSecond, quantile } from './queries.ts'

export const STATS: readonly Panel[] = [
  ['Ready', 'short', { ready: 'sum(agentmsg_ready)' }],
  ['Calls/s', 'ops', { calls: perSecond('agentmsg_served_total') }],
  ['Statements waiting', 'short', { waiting: 'sum(agentmsg_sql_under_way{state="waiting"})' }],
  ['Stalled loops', 'short', { loops: 'sum(agentmsg_loop_stalled)' }, { thresholds: redFrom(1) }],
]

export const CALLS_ANSWERED: readonly Panel[] = [
  ['Calls/s', 'ops', perSecond('agentmsg_served_total', 'call')],
  ['99th percentile', 's', quantile(0.99, 'agentmsg_served_seconds_bucket', 'call')],
  ['Not ok, /s', 'ops', perSecond('agentmsg_served_total{outcome!="ok"}', 'call, outcome')],
  ['Calls under way', 'short', 'sum by (instance) (agentmsg_served_working)'],
]

export const NATS: Panel = [
  'NATS',
  'short',
  {
    connected: 'min(agentmsg_nats_connected)',
    lost: 'sum(increase(agentmsg_nats_disconnects_total[$__rate_interval]))',
  },
]

export const CALLS_MADE: readonly Panel[] = [
  ['Calls/s', 'ops', perSecond('agentmsg_calls_total', 'call')],
  ['99th percentile', 's', quantile(0.99, 'agentmsg_call_seconds_bucket', 'call')],
  ['Not ok, /s', 'ops', perSecond('agentmsg_calls_total{outcome!="ok"}', 'call, outcome')],
  [
    'Calls in one NATS message',
    'short',
    `${perSecond('agentmsg_calls_total', 'call')} / ${perSecond('agentmsg_call_messages_total', 'call')}`,
    { description: 'Concurrent calls share a message. 1 means an idle system.' },
  ],
  ['Calls without an answer yet', 'short', 'sum by (instance) (agentmsg_calls_waiting)'],
  NATS,
]

export const POSTGRES: readonly Panel[] = [
  ['Statements/s', 'ops', `topk(10, ${perSecond('agentmsg_sql_total', 'statement')})`],
  ['99th percentile', 's', `topk(10, ${quantile(0.99, 'agentmsg_sql_seconds_bucket', 'statement')})`],
  ['Not ok, /s', 'ops', perSecond('agentmsg_sql_total{outcome!="ok"}', 'statement, outcome')],
  [
    'Pool',
    'short',
    { connections: 'sum(agentmsg_sql_connections)', '{{state}}': 'sum by (state) (agentmsg_sql_under_way)' },
    { description: 'Waiting: statements behind another on the same connection.' },
  ],
  ['Items in a batch, mean', 'short', mean('agentmsg_batch_items', '', 'batch')],
  ['Items that wait for a batch', 'short', 'sum by (batch) (agentmsg_batch_waiting)'],
]

export const LOOPS: readonly Panel[] = [
  ['Passes/s', 'ops', perSecond('agentmsg_loop_passes_total', 'loop')],
  ['Passes that failed or hung, /s', 'ops', perSecond('agentmsg_loop_passes_total{outcome!="ok"}', 'loop, outcome')],
  ['Stalled', 'short', 'max by (loop) (agentmsg_loop_stalled)'],
]

export const PROCESSES: readonly Panel[] = [
  ['Ready', 'short', { '{{instance}}': 'agentmsg_ready' }],
  ['CPU, cores', 'short', { '{{instance}}': 'rate(process_cpu_seconds_total[$__rate_interval])' }],
  ['Memory', 'bytes', { '{{instance}}': 'process_resident_memory_bytes' }],
  ['Event loop lag, 99th percentile', 's', { '{{instance}}': 'nodejs_eventloop_lag_p99_seconds' }],
  ['Garbage collection, share of time', 'percentunit', perSecond('nodejs_gc_duration_seconds_sum', 'instance')],
  ['Heap used', 'bytes', { '{{instance}}': 'nodejs_heap_size_used_bytes' }],
]
