/** One dashboard for each service: what only this service does, then what all services do. */
import type { Board, Panel } from './board.ts'
import { mean, perSecond, quantile } from './queries.ts'
import { CALLS_ANSWERED, CALLS_MADE, LOOPS, NATS, POSTGRES, PROCESSES, STATS } from './shared-panels.ts'

export const SERVICES: readonly Board[] = [
  gateway(),
  service('identity', 'Agents, challenges, nonces, directory.', [
    ['Nonces consumed/s', 'ops', outcomesOf('call="svc.identity.admit-request"')],
    ['Requests in one batch of nonces', 'short', { items: mean('agentmsg_batch_items', '{batch="identity.admit"}') }],
    ['Registrations/s', 'ops', outcomesOf('call="svc.identity.register-agent"')],
  ]),
  service('messaging', 'Envelopes, logs, admission.', [
    ['Events published/s', 'ops', { published: perSecond('agentmsg_events_published_total') }, { width: 12 }],
    ['Charges/s', 'ops', perSecond('agentmsg_charges_total{owner="messaging"}', 'step'), { width: 12 }],
    ['Messages in one append', 'short', mean('agentmsg_batch_items', '{batch=~"messaging.append.*"}', 'batch')],
    ['Charges: oldest overdue', 's', { overdue: 'max(agentmsg_charges_overdue_seconds{owner="messaging"})' }],
    ['Charges resolved/s', 'ops', { resolved: perSecond('agentmsg_charges_resolved_total{owner="messaging"}') }],
    [
      'JetStream: bytes and bound',
      'bytes',
      { bytes: 'max(agentmsg_jetstream_bytes)', bound: 'max(agentmsg_jetstream_max_bytes)' },
    ],
  ]),
  service('boards', 'Boards, memberships, verdicts.', [
    ['Verdicts/s', 'ops', perSecond('agentmsg_served_total{call=~"svc.boards.judge-.*"}', 'call')],
    ['Charges/s', 'ops', perSecond('agentmsg_charges_total{owner="boards"}', 'step')],
    ['Questions in one batch', 'short', { items: mean('agentmsg_batch_items', '{batch="boards.access"}') }],
  ]),
  service('budget', 'Units, credits, introductions.', [
    ['Reservations/s', 'ops', outcomesOf('call="svc.budget.reserve"')],
    [
      'Refused, /s',
      'ops',
      outcomesOf(
        'call="svc.budget.reserve", outcome=~"budget_exhausted|hard_limit_reached|introduction_limit_reached"',
      ),
    ],
    ['Oldest overdue reservation', 's', 'max by (owner) (agentmsg_charges_overdue_seconds)'],
    ['Steps of charges/s', 'ops', perSecond('agentmsg_charges_total', 'owner, step')],
    ['Ended by a resolver, /s', 'ops', perSecond('agentmsg_charges_resolved_total', 'owner')],
    ['Reservations in one batch', 'short', { items: mean('agentmsg_batch_items', '{batch="budget.reserve"}') }],
  ]),
  service('stream', 'Event streams.', [
    [
      'Open, and room',
      'short',
      {
        '{{instance}} open': 'sum by (instance) (agentmsg_streams_open)',
        '{{instance}} room': 'sum by (instance) (agentmsg_streams_room)',
      },
    ],
    ['Leases', 'short', 'sum by (instance) (agentmsg_stream_leases)'],
    ['Events written/s', 'ops', perSecond('agentmsg_stream_events_total', 'source')],
    ['Most behind, events', 'short', 'max by (instance) (agentmsg_streams_most_behind)'],
    ['Heads last read', 's', 'max by (instance) (agentmsg_stream_heads_read_seconds)'],
    ['Streams refused, /s', 'ops', outcomesOf('call="svc.stream.open", outcome!="ok"')],
  ]),
  service('webhook', 'Configurations, jobs, deliveries.', [
    ['Oldest due job', 's', { due: 'max(agentmsg_webhook_oldest_due_seconds)' }],
    ['Events without a job yet', 'short', { events: 'max(agentmsg_webhook_consumer_lag)' }],
    ['Attempts/s', 'ops', perSecond('agentmsg_webhook_attempts_total', 'result')],
    ['Attempts, 99th percentile', 's', { attempt: quantile(0.99, 'agentmsg_webhook_attempt_seconds_bucket') }],
    ['Jobs by outcome, /s', 'ops', perSecond('agentmsg_webhook_outcomes_total', 'outcome')],
    ['Held now', 'short', 'sum by (instance) (agentmsg_webhook_in_flight)'],
    ['Events taken/s', 'ops', perSecond('agentmsg_webhook_events_total', 'handled')],
    ['Jobs made from the logs/s', 'short', { 'made up': 'sum(rate(agentmsg_webhook_made_up_total[5m]))' }],
    ['Last comparison with the logs', 's', { begun: 'max(agentmsg_webhook_covered_seconds)' }],
  ]),
]

function gateway(): Board {
  return {
    uid: 'svc-gateway',
    title: 'Gateway',
    description: 'HTTP edge: signatures, limits, answers.',
    stats: {
      panels: [
        ['Ready', 'short', { ready: 'sum(agentmsg_ready{component="gateway"})' }],
        ['Requests/s', 'reqps', { requests: perSecond('agentmsg_http_requests_total') }],
        ['Under way', 'short', { requests: 'sum(agentmsg_http_under_way)' }],
        ['Connections', 'short', { connections: 'sum(agentmsg_http_connections)' }],
        ['Streams passing through', 'short', { streams: 'sum(agentmsg_gateway_streams)' }],
        ['Gateways known, minimum', 'short', { gateways: 'min(agentmsg_gateway_known)' }],
      ],
    },
    graphs: [
      { title: 'Requests', panels: requests() },
      { title: 'Calls that it makes', component: 'gateway', panels: CALLS_MADE },
      { title: 'Processes', component: 'gateway', panels: PROCESSES },
    ],
  }
}

function requests(): Panel[] {
  const seconds = 'agentmsg_http_request_seconds_bucket{component="gateway"}'
  return [
    ['Requests/s by operation', 'reqps', perSecond('agentmsg_http_requests_total', 'operation')],
    ['Median by operation', 's', quantile(0.5, seconds, 'operation')],
    ['99th percentile by operation', 's', quantile(0.99, seconds, 'operation')],
    ['Refused, /s by code', 'ops', perSecond('agentmsg_http_requests_total{code!="ok"}', 'code')],
    ['Under way', 'short', 'sum by (instance) (agentmsg_http_under_way)'],
    ['Connections', 'short', 'sum by (instance) (agentmsg_http_connections)'],
    ['Connections without valid HTTP, /s', 'ops', perSecond('agentmsg_http_refused_total', 'reason')],
    ['In memory', 'short', 'sum by (cache) (agentmsg_gateway_cached)'],
    ['Streams passing through', 'short', 'sum by (instance) (agentmsg_gateway_streams)'],
  ]
}

function outcomesOf(matchers: string): string {
  return perSecond(`agentmsg_served_total{${matchers}}`, 'outcome')
}

function service(name: string, description: string, own: readonly Panel[]): Board {
  const onlyAnswers = name === 'budget'
  return {
    uid: `svc-${name}`,
    title: name.charAt(0).toUpperCase() + name.slice(1),
    description,
    stats: { component: name, panels: STATS },
    graphs: [
      { title: 'Its own work', panels: own },
      {
        title: 'Calls that it answers',
        component: name,
        panels: onlyAnswers ? [...CALLS_ANSWERED, NATS] : CALLS_ANSWERED,
      },
      ...(onlyAnswers ? [] : [{ title: 'Calls that it makes', component: name, panels: CALLS_MADE }]),
      { title: 'Postgres', component: name, panels: POSTGRES },
      { title: 'Background loops', component: name, panels: LOOPS },
      { title: 'Processes', component: name, panels: PROCESSES },
    ],
  }
}
