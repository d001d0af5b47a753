import { type Board, type Panel, redFrom } from './board.ts'
import { perSecond, quantile } from './queries.ts'

const SIGNATURE_CODES =
  'unauthenticated|timestamp_out_of_range|signer_unknown|signer_revoked|signature_invalid|nonce_replayed'
const LIMIT_CODES =
  'rate_limited|budget_exhausted|hard_limit_reached|introduction_limit_reached|pow_invalid|stream_limit|stream_capacity'

const CLIENTS: readonly Panel[] = [
  ['Requests/s by operation', 'reqps', perSecond('agentmsg_http_requests_total', 'operation')],
  ['Requests/s by status', 'reqps', perSecond('agentmsg_http_requests_total', 'status')],
  [
    '99th percentile by operation',
    's',
    quantile(0.99, 'agentmsg_http_request_seconds_bucket{operation!="openStream"}', 'operation'),
  ],
  ['Messages accepted/s', 'ops', { accepted: messagesWith('202'), repeated: messagesWith('200') }],
  ['Signatures refused, /s', 'ops', refusedWith(SIGNATURE_CODES)],
  ['Limits, budget and proof of work: refused, /s', 'ops', refusedWith(LIMIT_CODES)],
]

const BACKLOGS: readonly Panel[] = [
  ['Webhooks: oldest due job', 's', { due: 'max(agentmsg_webhook_oldest_due_seconds)' }, { width: 12 }],
  ['Webhooks: events without a job yet', 'short', { events: 'max(agentmsg_webhook_consumer_lag)' }, { width: 12 }],
  ['Streams: most behind, events', 'short', 'max by (instance) (agentmsg_streams_most_behind)'],
  ['Charges: oldest overdue', 's', 'max by (owner) (agentmsg_charges_overdue_seconds)'],
  ['Streams open, and room', 'short', { open: 'sum(agentmsg_streams_open)', room: 'sum(agentmsg_streams_room)' }],
]

const BETWEEN_SERVICES: readonly Panel[] = [
  ['Calls/s by service', 'ops', perSecond('agentmsg_served_total', 'component')],
  ['99th percentile by service', 's', slowest('agentmsg_served_seconds_bucket')],
  [
    'Unavailable, /s',
    'ops',
    { '{{component}} → {{call}}': perSecond('agentmsg_calls_total{outcome="unavailable"}', 'component, call') },
  ],
  ['SQL, 99th percentile', 's', slowest('agentmsg_sql_seconds_bucket')],
  ['Statements that wait for a connection', 'short', 'sum by (component) (agentmsg_sql_under_way{state="waiting"})'],
  [
    'Passes of loops that failed or hung, /s',
    'ops',
    perSecond('agentmsg_loop_passes_total{outcome!="ok"}', 'component, loop'),
  ],
]

const PROCESSES: readonly Panel[] = [
  ['CPU, cores', 'short', perSecond('process_cpu_seconds_total', 'component')],
  ['Memory', 'bytes', 'sum by (component) (process_resident_memory_bytes)'],
  ['Event loop lag, 99th percentile', 's', 'max by (component) (nodejs_eventloop_lag_p99_seconds)'],
]

export const OVERVIEW: Board = {
  uid: 'svc-overview',
  title: 'Signed agent messaging',
  description: 'The whole system on one page.',
  stats: {
    panels: [
      ['Ready processes', 'short', 'sum by (component) (agentmsg_ready)', { width: 12 }],
      ['Not ready', 'short', { 'not ready': 'sum(agentmsg_ready == bool 0)' }, { thresholds: redFrom(1) }],
      ['Requests/s', 'reqps', { requests: perSecond('agentmsg_http_requests_total') }],
      ['5xx', 'percentunit', { share: shareOf5xx() }, { thresholds: redFrom(0.001) }],
    ],
  },
  graphs: [
    { title: 'Clients', panels: CLIENTS },
    { title: 'Backlogs', panels: BACKLOGS },
    { title: 'Between the services', panels: BETWEEN_SERVICES },
    { title: 'Processes', panels: PROCESSES },
  ],
}

function shareOf5xx(): string {
  const failed = perSecond('agentmsg_http_requests_total{status=~"5..", operation!="getHealth"}')
  return `(${failed} or vector(0)) / ${perSecond('agentmsg_http_requests_total{operation!="getHealth"}')}`
}

function messagesWith(status: string): string {
  return perSecond(`agentmsg_http_requests_total{operation="sendMessage", status="${status}"}`)
}

function refusedWith(codes: string): string {
  return perSecond(`agentmsg_http_requests_total{code=~"${codes}"}`, 'code')
}

function slowest(buckets: string): string {
  return quantile(0.99, `${buckets}{component!=""}`, 'component')
}
