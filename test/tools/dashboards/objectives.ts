/** What the service promises: deploy/observability/rules/svc-objectives.yaml records most of it, by namespace only. */
import type { Board, Panel } from './board.ts'
import { quantile } from './queries.ts'

export const OBJECTIVES: Board = {
  uid: 'svc-objectives',
  title: 'Signed agent messaging: objectives',
  description: 'Service levels: burn rates, error budgets and what agents feel.',
  statHeight: 5,
  graphHeight: 8,
  stats: {
    panels: [
      [
        'Error budget left, 30 days',
        'percentunit',
        { '{{objective}}': 'svc:objective_budget_left:ratio30d{namespace=~"$namespace"}' },
        {
          description: '1: nothing is spent. Negative: more than the objective allows.',
          width: 12,
          thresholds: [
            ['red', null],
            ['orange', 0],
            ['green', 0.25],
          ],
        },
      ],
      [
        'Errors that are allowed',
        'percentunit',
        { '{{objective}}': 'svc:objective_budget' },
        {
          description: 'The share of requests or events that may miss their objective.',
          width: 12,
          thresholds: [['blue', null]],
        },
      ],
    ],
  },
  graphs: [
    {
      panels: [
        burnRate('requests'),
        burnRate('stream'),
        burnRate('webhook'),
        [
          'From acceptance to the stream',
          's',
          quantilesOf('agentmsg_accepted_to_stream_seconds_bucket'),
          { description: 'Events that were accepted while the stream was open. Slow readers are left out.' },
        ],
        [
          'From acceptance to the first attempt',
          's',
          quantilesOf('agentmsg_accepted_to_attempt_seconds_bucket'),
          { description: 'Until the first request to a webhook begins.' },
        ],
        [
          'From acceptance to success',
          's',
          quantilesOf('agentmsg_accepted_to_delivered_seconds_bucket'),
          { description: 'Until a webhook answers 2xx, retries included.' },
        ],
        [
          'Requests with 5xx',
          'percentunit',
          { '5xx': `${ofRequests('svc:objective_bad:rate5m')} / ${ofRequests('svc:objective_all:rate5m')}` },
          { description: 'The share, without health checks.' },
        ],
        [
          'Clocks: from their median',
          's',
          { '{{component}} {{instance}}': fromMedian('agentmsg_clock_seconds - timestamp(agentmsg_clock_seconds)') },
          { description: 'The histograms are as exact as the clocks. SvcClockSkew fires past 1 s.' },
        ],
        [
          'Clocks: databases',
          's',
          { '{{component}} {{instance}}': 'agentmsg_database_clock_offset_seconds' },
          { description: 'The clock of the database, less that of the process.' },
        ],
      ],
    },
  ],
}

function burnRate(objective: string): Panel {
  const windows = ['5m', '30m', '1h', '6h']
  const queries = windows.map((window) => [
    window,
    `svc:objective_burn:rate${window}{objective="${objective}", namespace=~"$namespace"}`,
  ])
  const description =
    '1 spends the budget of 30 days in 30 days. Alerts: over 14.4 in 5 m and 1 h; over 6 in 30 m and 6 h.'
  return [`Burn rate: ${objective}`, 'short', Object.fromEntries(queries), { description }]
}

function quantilesOf(buckets: string): Record<string, string> {
  return { median: quantile(0.5, buckets), '95 %': quantile(0.95, buckets), '99 %': quantile(0.99, buckets) }
}

function ofRequests(rule: string): string {
  return `${rule}{objective="requests", namespace=~"$namespace"}`
}

function fromMedian(value: string): string {
  return `${value} - on () group_left () quantile(0.5, ${value})`
}
