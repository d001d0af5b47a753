/** Cases in which alerts on the services' own metrics fire, and cases in which they do not. */
import type { AlertCase, Series } from './promtool.ts'

const SERVICES = ['gateway', 'identity', 'messaging', 'boards', 'budget', 'stream', 'webhook']
const alive = (services: readonly string[], values = '1x60'): Series =>
  Object.fromEntries(services.map((service) => [`agentmsg_build_info{component="${service}"}`, values]))
/** A level that lasts for an hour. The alert fires above the threshold, and not at the threshold. */
const level = (series: string, above: number, threshold: number, at = '40m'): AlertCase => ({
  at,
  fires: [{ [series]: `${above}x60` }],
  quiet: [{ [series]: `${threshold}x60` }],
})
const requests = (code: string, status: string): string =>
  `agentmsg_http_requests_total{operation="sendMessage", code="${code}", status="${status}"}`
const HEALTH = 'agentmsg_http_requests_total{operation="getHealth", code="ok", status="200"}'
const operation = (name: string): string => `agentmsg_http_requests_total{operation="${name}", code="ok", status="200"}`
/** 100 requests a minute, of which `bad` requests fail. */
const failing = (bad: number): Series => ({
  [requests('ok', '202')]: `0+${100 - bad}x110`,
  [requests('unavailable', '503')]: `0+${bad}x110`,
})
const events = (histogram: string, le: string, good: number): Series => ({
  [`agentmsg_${histogram}_seconds_count{source="heard"}`]: '0+100x110',
  [`agentmsg_${histogram}_seconds_bucket{source="heard", le="${le}"}`]: `0+${good}x110`,
})
const slow = (good: number, perMinute: number): Series => ({
  'agentmsg_http_request_seconds_bucket{operation="getMe", le="1"}': `0+${(perMinute * good) / 100}x60`,
  'agentmsg_http_request_seconds_bucket{operation="getMe", le="2.5"}': `0+${perMinute}x60`,
  'agentmsg_http_request_seconds_bucket{operation="getMe", le="+Inf"}': `0+${perMinute}x60`,
  'agentmsg_http_requests_total{operation="getMe"}': `0+${perMinute}x60`,
})

/** 100 events a minute, of which `bad` events are in the state `value`. */
const share = (metric: string, label: string, value: string, bad: number): Series => ({
  [`${metric}{component="a", call="b", statement="c", loop="d", ${label}="ok"}`]: `0+${100 - bad}x60`,
  [`${metric}{component="a", call="b", statement="c", loop="d", ${label}="${value}"}`]: `0+${bad}x60`,
})

export const SERVICE_CASES: Readonly<Record<string, AlertCase>> = {
  // It always fires, so it has no other case.
  SvcWatchdog: { at: '1m', fires: [{}], quiet: [] },
  SvcProcessDown: {
    at: '5m',
    fires: [{ 'up{job="svc", instance="a"}': '0x10' }],
    quiet: [{ 'up{job="svc", instance="a"}': '1 1 0 1 1 0 1 1 0 1' }, { 'up{job="other", instance="a"}': '0x10' }],
  },
  SvcServiceGone: {
    at: '29m',
    fires: [
      ...SERVICES.map((gone) => alive(SERVICES.filter((service) => service !== gone))),
      {},
      // All processes at once.
      alive(SERVICES, '1x8'),
    ],
    // The second begins between two steps of the rule that remembers deployments.
    quiet: [alive(SERVICES), alive(SERVICES, '_x25 1x10')],
  },
  SvcNotReady: level('agentmsg_ready{component="a", instance="b"}', 0, 1),
  SvcServiceNotReady: {
    at: '10m',
    fires: [{ 'agentmsg_ready{component="a", instance="b"}': '0x20' }],
    quiet: [
      { 'agentmsg_ready{component="a", instance="b"}': '0x20', 'agentmsg_ready{component="a", instance="c"}': '1x20' },
    ],
  },
  SvcErrorBudgetFast: {
    at: '100m',
    fires: [
      failing(2),
      answeredWithin(85),
      events('accepted_to_stream', '2.5', 85),
      events('accepted_to_attempt', '10', 85),
    ],
    quiet: [
      failing(1),
      answeredWithin(86),
      events('accepted_to_stream', '2.5', 86),
      events('accepted_to_attempt', '10', 86),
    ],
  },
  SvcErrorBudgetSlow: {
    at: '100m',
    fires: [
      failing(1),
      answeredWithin(93),
      events('accepted_to_stream', '2.5', 93),
      events('accepted_to_attempt', '10', 93),
    ],
    quiet: [
      failing(0.5),
      answeredWithin(95),
      events('accepted_to_stream', '2.5', 95),
      events('accepted_to_attempt', '10', 95),
    ],
  },
  SvcErrorBudgetSpent: { at: '100m', fires: [failing(0.2)], quiet: [failing(0.05), failing(0)] },
  SvcInternalErrors: {
    at: '15m',
    fires: [
      { [requests('internal', '500')]: '0x8 1x20' },
      // The first error of its kind, in a series that exists only from then on.
      { [requests('internal', '500')]: '_x8 1x20', [requests('ok', '202')]: '0+9x40' },
    ],
    quiet: [
      { [requests('internal', '500')]: '1x40' },
      // A new process, whose series begin at 0.
      { [requests('internal', '500')]: '_x8 0x20' },
      { [requests('unavailable', '503')]: '0+9x40' },
    ],
  },
  SvcUnhandledErrors: level('agentmsg_unhandled_errors_total{component="a", instance="b"}', 1, 0),
  SvcSlow: { at: '40m', fires: [slow(98, 60)], quiet: [slow(99.5, 60), slow(98, 5)] },
  SvcTrafficGone: {
    at: '90m',
    fires: [
      { [requests('ok', '202')]: '0+60x70 4200x30', [HEALTH]: '0+60x110' },
      // The gateways are gone, with their series.
      { [requests('ok', '202')]: '0+60x70' },
    ],
    quiet: [
      { [requests('ok', '202')]: '0+60x75 4500x4 4501x30' },
      // Little traffic: a pause means nothing.
      { [requests('ok', '202')]: '0+3x70 210x30' },
      // There was none in the last hour.
      { [requests('ok', '202')]: '60x110', [HEALTH]: '0+60x110' },
    ],
  },
  SvcEventsLost: {
    at: '50m',
    fires: [
      { agentmsg_webhook_made_up_total: '0+60x60', 'agentmsg_webhook_events_total{handled="done"}': '0+30x60' },
      { agentmsg_webhook_made_up_total: '0+60x60' },
    ],
    quiet: [
      { agentmsg_webhook_made_up_total: '0+60x60', 'agentmsg_webhook_events_total{handled="done"}': '0+90x60' },
      { agentmsg_webhook_made_up_total: '0+3x60' },
    ],
  },
  SvcJetStreamFull: {
    at: '40m',
    fires: [{ agentmsg_jetstream_bytes: '71x60', agentmsg_jetstream_max_bytes: '100x60' }],
    quiet: [{ agentmsg_jetstream_bytes: '70x60', agentmsg_jetstream_max_bytes: '100x60' }],
  },
  SvcChargesOverdue: level('agentmsg_charges_overdue_seconds{owner="a"}', 121, 120),
  SvcLoopStalled: level('agentmsg_loop_stalled{component="a", instance="b", loop="c"}', 1, 0),
  SvcLoopFailing: {
    at: '40m',
    fires: [share('agentmsg_loop_passes_total', 'outcome', 'hung', 51)],
    quiet: [share('agentmsg_loop_passes_total', 'outcome', 'failed', 49)],
  },
  SvcWebhookJobsLate: level('agentmsg_webhook_oldest_due_seconds', 61, 60),
  SvcWebhookConsumerLag: level('agentmsg_webhook_consumer_lag', 10_001, 10_000),
  SvcWebhookNotReconciled: level('agentmsg_webhook_covered_seconds', 901, 900),
  SvcWebhookDeliveriesFailing: {
    at: '50m',
    fires: [
      {
        'agentmsg_webhook_attempts_total{result="timeout"}': '0+60x60',
        'agentmsg_webhook_attempts_total{result="delivered"}': '0+50x60',
      },
    ],
    quiet: [
      {
        'agentmsg_webhook_attempts_total{result="timeout"}': '0+50x60',
        'agentmsg_webhook_attempts_total{result="delivered"}': '0+60x60',
      },
      { 'agentmsg_webhook_attempts_total{result="timeout"}': '0+30x60' },
    ],
  },
  SvcStreamsFull: {
    at: '40m',
    fires: [{ agentmsg_streams_room: '9x60', agentmsg_streams_open: '91x60' }],
    quiet: [{ agentmsg_streams_room: '10x60', agentmsg_streams_open: '90x60' }],
  },
  SvcStreamsHearOnly: level('agentmsg_stream_heads_read_seconds{instance="a"}', 16, 15),
  SvcStreamsBehind: level('agentmsg_streams_most_behind{instance="a"}', 5_001, 5_000),
  SvcNatsLost: {
    at: '20m',
    fires: [
      connected(0, 0, 1),
      { ...connected(1), 'agentmsg_nats_connected{component="a", instance="0"}': '1x5 0x6 1x20' },
    ],
    quiet: [
      // One process has lost it: SvcNotReady.
      connected(0, 1, 1),
      // A connection that comes back within a minute. Or one that came back more than 10 minutes ago.
      { 'agentmsg_nats_connected{component="a", instance="0"}': '1x5 0 1x20' },
      { 'agentmsg_nats_connected{component="a", instance="0"}': '0x5 1x20' },
    ],
  },
  SvcCallsUnavailable: {
    at: '40m',
    fires: [share('agentmsg_calls_total', 'outcome', 'unavailable', 2)],
    quiet: [
      share('agentmsg_calls_total', 'outcome', 'unavailable', 0.9),
      share('agentmsg_calls_total', 'outcome', 'not_found', 50),
    ],
  },
  SvcStatementsFailing: {
    at: '40m',
    fires: [share('agentmsg_sql_total', 'outcome', '23514', 2)],
    quiet: [share('agentmsg_sql_total', 'outcome', '23514', 0.9), share('agentmsg_sql_total', 'outcome', '40001', 50)],
  },
  SvcStatementsWaiting: {
    at: '40m',
    fires: [waiting(9)],
    quiet: [waiting(8)],
  },
  SvcEventLoopBlocked: level('nodejs_eventloop_lag_p99_seconds{component="a", instance="b"}', 0.26, 0.25),
  SvcClockSkew: {
    at: '40m',
    fires: [clocks(2), { 'agentmsg_database_clock_offset_seconds{component="a", instance="b"}': '-1.1x60' }],
    quiet: [clocks(1), { 'agentmsg_database_clock_offset_seconds{component="a", instance="b"}': '-0.9x60' }],
  },
  SvcRestarting: {
    at: '30m',
    fires: [{ 'process_start_time_seconds{component="a", instance="b"}': '1x18 2x1 3x1 4x1 5x1 6x20' }],
    quiet: [
      // A rollout on machines: each process starts again at its address. Three, as when a secret is rotated.
      { 'process_start_time_seconds{component="a", instance="b"}': '1x18 2x1 3x1 4x20' },
      // A rollout in Kubernetes: each pod has an address of its own.
      Object.fromEntries(
        Array.from({ length: 9 }, (_, at) => [
          `process_start_time_seconds{component="a", instance="${at}"}`,
          `_x${at + 15} ${at}x2`,
        ]),
      ),
      { 'process_start_time_seconds{instance="another exporter"}': '1+1x40' },
    ],
  },
  SvcManyRefused: {
    at: '40m',
    fires: [{ [requests('rate_limited', '429')]: '0+310x60', [requests('ok', '202')]: '0+690x60' }],
    quiet: [
      { [requests('rate_limited', '429')]: '0+290x60', [requests('ok', '202')]: '0+710x60' },
      { [requests('rate_limited', '429')]: '0+500x60' },
    ],
  },
  SvcSignaturesRefused: {
    at: '40m',
    fires: [{ [requests('signature_invalid', '401')]: '0+13x60' }, { [requests('nonce_replayed', '401')]: '0+13x60' }],
    quiet: [{ [requests('signature_invalid', '401')]: '0+11x60' }, { [requests('signer_unknown', '401')]: '0+99x60' }],
  },
  SvcManyRevocations: {
    at: '90m',
    fires: [{ [operation('revokeMe')]: '0x60 0+1x25 25x9' }],
    quiet: [{ [operation('revokeMe')]: '0x60 0+1x18 18x20' }, { [operation('getMe')]: '0+100x110' }],
  },
  SvcManyRegistrations: {
    at: '26h',
    fires: [{ [operation('registerAgent')]: '0+1x1500 1500+20x100' }],
    quiet: [
      { [operation('registerAgent')]: '0+1x1500 1500+16x100' },
      // As many as always.
      { [operation('registerAgent')]: '0+20x1600' },
    ],
  },
}

/** `good` of 100 requests a minute are answered within a second. */
function answeredWithin(good: number): Series {
  return {
    'agentmsg_http_request_seconds_count{operation="getMe"}': '0+100x110',
    'agentmsg_http_request_seconds_bucket{operation="getMe", le="1"}': `0+${good}x110`,
    // A stream's first byte may wait.
    'agentmsg_http_request_seconds_count{operation="openStream"}': '0+100x110',
  }
}

function connected(...processes: readonly number[]): Series {
  return Object.fromEntries(
    processes.map((value, at) => [`agentmsg_nats_connected{component="a", instance="${at}"}`, `${value}x60`]),
  )
}

function waiting(statements: number): Series {
  return {
    'agentmsg_sql_under_way{state="waiting", component="a", instance="b"}': `${statements}x60`,
    'agentmsg_sql_connections{component="a", instance="b"}': '8x60',
  }
}

/** Three processes. The clock of one is ahead of the others. The clock of the tests starts at 0. */
function clocks(aheadSeconds: number): Series {
  return Object.fromEntries(
    [0, 0, aheadSeconds].map((ahead, at) => [
      `agentmsg_clock_seconds{component="a", instance="${at}"}`,
      `${ahead}+60x60`,
    ]),
  )
}
