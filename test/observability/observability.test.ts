/** The metrics, traces and logs of a whole system that does everything once. */
import { randomBytes } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ERRORS } from '@svc/contracts/errors.ts'
import { SERVICES } from '@svc/local/topology.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { eventually } from '../support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '../support/stand-ins/webhook-receiver.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { type Driven, driveAll } from './drive.ts'
import { type CollectedSpan, type OtlpCollector, startOtlpCollector } from './otlp-collector.ts'
import { type Matcher, matches, parsePromql, type Selector } from './promql.ts'
import { metricsUrl, type Sample, type Scrapes, scrapeAll } from './scrape.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MARK = `marked${randomBytes(6).toString('hex')}`
const SECRETS = {
  webhook: `secret-${randomBytes(24).toString('hex')}`,
  challengeKey: randomBytes(32).toString('hex'),
  webhookKey: randomBytes(32).toString('hex'),
}

const COUNTED_LATER = [
  ['agentmsg_webhook_attempts_total', 'delivered'],
  ['agentmsg_webhook_outcomes_total', 'delivered'],
  ['agentmsg_webhook_outcomes_total', 'retry'],
  ['agentmsg_stream_events_total', 'heard'],
  ['agentmsg_accepted_to_stream_seconds_count', 'heard'],
  ['agentmsg_accepted_to_attempt_seconds_count', 'webhook'],
  ['agentmsg_accepted_to_delivered_seconds_count', 'webhook'],
] as const

let h: Harness
let receiver: WebhookReceiver
let collector: OtlpCollector
let driven: Driven
let scrapes: Scrapes
/** Nonces and signatures of every request. */
const shown: string[] = []

beforeAll(async () => {
  receiver = await startReceiver()
  collector = await startOtlpCollector()
  h = await startHarness({
    env: {
      SVC_METRICS_PORT: '0',
      SVC_DAILY_FREE_UNITS: '20',
      SVC_LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host,
      SVC_WEBHOOK_BACKOFF_SECONDS: '0,0.1,0.1,0.1,0.1',
      NODE_EXTRA_CA_CERTS: receiver.caFile,
    },
    envOf: Object.fromEntries(
      [1, 2].flatMap((index) => [
        [`identity-${index}`, { SVC_CHALLENGE_KEY: SECRETS.challengeKey }],
        [`webhook-${index}`, { SVC_WEBHOOK_SECRET_KEY: SECRETS.webhookKey }],
      ]),
    ),
  })
  watchWhatIsShown()
  driven = await driveAll({ h, receiver, mark: MARK, webhookSecret: SECRETS.webhook })
  await refuseRows()
  // Work that continues after an answer is counted later.
  scrapes = await eventually(
    async () => {
      const found = await scrapeAll(h.system.processes.values())
      const isCounted = ([metric, value]: readonly [string, string]): boolean =>
        found.samples.some(({ name, labels }) => name === metric && Object.values(labels).includes(value))
      return COUNTED_LATER.every(isCounted) && found
    },
    { what: 'deliveries being counted' },
  )
})
afterAll(async () => {
  await h?.[Symbol.asyncDispose]()
  await collector?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
})

/** Records the nonce and the signature of every later request. */
function watchWhatIsShown(): void {
  const before = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const headers = new Headers(init?.headers)
    shown.push(headers.get('x-svc-nonce') ?? '', headers.get('authorization')?.split('.').at(-1) ?? '')
    return before(input, init)
  }
}

/** A database that refuses valid rows: its error contains the whole row with the envelope, and the answer is 500. */
async function refuseRows(): Promise<void> {
  const [alice, bob] = await h.agents(2)
  const sql = postgres(h.system.database.adminUrl, { max: 1 })
  await sql.unsafe(`alter table messaging.messages add constraint never check (envelope is null) not valid`)
  const answer = await alice.send(bob, MARK)
  await sql.unsafe(`alter table messaging.messages drop constraint never`)
  await sql.end()
  expect(answer.status).toBe(500)
}

describe('metrics', () => {
  test('every process has metrics under the name of its service, and is ready and live', async () => {
    const readiness = scrapes.samples.filter(({ name }) => name === 'agentmsg_ready')
    const told = readiness.map(({ process, labels, value }) => `${process} ${labels.component} ${value}`)
    const expected = SERVICES.flatMap((service) => [1, 2].map((index) => `${service}-${index} ${service} 1`))
    expect(told.sort()).toEqual(expected.sort())
    for (const process of h.system.processes.values()) {
      const probes = ['live', 'ready', 'started'].map((probe) => fetch(`${metricsUrl(process)}/${probe}`))
      expect((await Promise.all(probes)).map(({ status }) => status)).toEqual([200, 200, 200])
    }
  })

  test('every operation ran, and was counted if it succeeded', async () => {
    const openApi = await (await fetch(`${h.place.url}/openapi.json`)).json()
    const paths = Object.values((openApi as { paths: Record<string, Record<string, { operationId: string }>> }).paths)
    const operations = paths.flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
    const counted = scrapes.samples.filter(
      ({ name, labels }) => name === 'agentmsg_http_requests_total' && labels.code === 'ok',
    )
    const done = new Set(counted.map(({ labels }) => labels.operation))
    expect(operations.filter((operation) => !done.has(operation))).toEqual([])
  })

  test('everything is counted: by operation, status and code; by call; by statement; by outcome', () => {
    const sum = (name: string, labels: Record<string, string>): number =>
      scrapes.samples
        .filter(
          (sample) =>
            sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
        )
        .reduce((total, { value }) => total + value, 0)
    const requests = (operation: string, status: string, code: string): number =>
      sum('agentmsg_http_requests_total', { operation, status, code })
    expect(requests('sendMessage', '200', 'ok')).toBe(1)
    expect(requests('sendMessage', '500', 'internal')).toBe(1)
    expect(requests('sendMessage', '401', 'signature_invalid')).toBe(1)
    expect(requests('sendMessage', '401', 'timestamp_out_of_range')).toBe(1)
    expect(requests('sendMessage', '409', 'id_conflict')).toBe(1)
    expect(requests('sendMessage', '429', 'budget_exhausted')).toBeGreaterThan(0)
    expect(requests('registerAgent', '400', 'pow_invalid')).toBe(1)
    expect(requests('getMe', '401', 'signer_unknown')).toBe(1)
    expect(requests('notFound', '404', 'not_found')).toBe(1)
    expect(sum('agentmsg_http_refused_total', { reason: 'not_http' })).toBe(1)
    const accepted = sum('agentmsg_http_requests_total', { operation: 'sendMessage', status: '202' })
    expect(sum('agentmsg_batch_items_sum', { batch: 'messaging.append' })).toBeGreaterThanOrEqual(accepted - 1) // a post is not appended by this batch
    expect(sum('agentmsg_sql_total', { statement: 'call messaging.append_one', outcome: 'ok' })).toBeGreaterThan(0)
    expect(sum('agentmsg_sql_total', { statement: 'call messaging.append_within', outcome: '23514' })).toBeGreaterThan(
      0,
    )
    expect(sum('agentmsg_webhook_attempts_total', { result: 'delivered' })).toBeGreaterThan(0)
    expect(sum('agentmsg_webhook_attempts_total', { result: 'status_5xx' })).toBeGreaterThanOrEqual(4)
    expect(sum('agentmsg_webhook_outcomes_total', { outcome: 'retry' })).toBeGreaterThan(0)
    expect(sum('agentmsg_stream_events_total', { source: 'heard' })).toBeGreaterThan(0)
    expect(sum('agentmsg_events_published_total', {})).toBeGreaterThan(0)
  })

  test('ADR 22: no label contains an id, a name, an address, or text of a client', () => {
    const values = new Set(scrapes.samples.flatMap(({ labels }) => Object.values(labels)))
    const told = [...values].filter(
      (value) =>
        driven.ids.some((id) => value.includes(id)) ||
        value.includes(MARK) ||
        /[0-9a-f]{12,}|[1-9A-HJ-NP-Za-km-z]{28,}|\d+\.\d+\.\d+\.\d+|\//.test(value),
    )
    expect(told).toEqual([])
    // The series of a single process, because label values must not grow with use.
    const counts = Map.groupBy(scrapes.samples, ({ process }) => process)
    for (const [, samples] of counts) expect(samples.length).toBeLessThan(2_500)
  })
})

/** Labels from Prometheus itself, or from its configuration (docs/operating/observe.md). */
const NOT_SCRAPED = new Set(['up'])
const GIVEN_LABELS = new Set(['namespace', 'job', 'instance', 'le'])
/** Labels that recording rules add. */
const MADE_LABELS = new Set(['objective', 'exporter', 'component'])
/** The part of a page's address before its path, which an operator may replace. */
const PAGES_BASE = 'https://git.example.org/'
/** Failures that should never happen have no series in a healthy system, but their label values are known. */
const KNOWN_VALUES = [...Object.keys(ERRORS), 'ok', '40P01', '40001', '500', '503']
/** Groups of rules on metrics that our processes do not have. The names are those of the exporters (docs/operating/observe.md). */
const OF_EXPORTERS = new Set(['svc-nats', 'svc-postgres', 'svc-edge', 'svc-cluster'])
const OUTCOMES = new Set(['outcome', 'code', 'status', 'result'])

describe('dashboards and alerts use existing metrics', () => {
  const dashboards = files('deploy/observability/dashboards/*.json').map((path) => ({
    path,
    board: JSON.parse(readFileSync(path, 'utf8')) as Dashboard,
  }))
  const groups = files('deploy/observability/rules/*.yaml').flatMap(
    (path) => (parse(readFileSync(path, 'utf8')) as { groups: RuleGroup[] }).groups,
  )
  const rules = groups.flatMap((group) => group.rules)
  const recorded = new Set(rules.flatMap(({ record }) => record ?? []))

  test.each(dashboards.map(({ path, board }) => [basename(path), board] as const))('%s', (_, board) => {
    expect(board.templating.list.map(({ name }) => name)).toEqual(['datasource', 'namespace', 'job', 'instance'])
    const targets = board.panels.flatMap(({ targets = [] }) => targets)
    // Recorded rules are sums over all processes of a namespace.
    const unscoped = targets.filter(({ expr }) => {
      const wanted = (metric: string): number => (recorded.has(metric) ? 0 : 3)
      return parsePromql(expr).selectors.some(
        ({ metric, matchers }) => matchers.filter(({ label, value }) => value === `$${label}`).length < wanted(metric),
      )
    })
    expect(unscoped).toEqual([])
    expect(targets.length).toBeGreaterThan(10)
    const wrong = targets.flatMap(({ expr, legendFormat }) => [
      ...problemsOf(expr),
      ...legendProblems(expr, legendFormat),
    ])
    expect(wrong).toEqual([])
  })

  test('every rule', () => {
    const own = groups.filter(({ name }) => !OF_EXPORTERS.has(name)).flatMap((group) => group.rules)
    expect(own.length).toBeGreaterThan(20)
    expect(own.flatMap(({ expr }) => problemsOf(expr))).toEqual([])
  })

  test('every alert has a severity, a summary and a page, and the list of pages includes the page', () => {
    const alerts = rules.filter(({ alert }) => alert !== undefined)
    const list = readFileSync(join(ROOT, 'docs/operating/runbooks/README.md'), 'utf8')
    const wrong = alerts.filter(({ alert, labels, annotations, expr }) => {
      const [before, path = ''] = annotations?.runbook_url?.split(PAGES_BASE) ?? []
      const page = readFileSync(join(ROOT, path), 'utf8')
      const { labels: grouping } = parsePromql(expr)
      const mentioned = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label ?? '')
      const known = [
        ...grouping,
        ...seriesOf(expr).flatMap((sample) => Object.keys(sample.labels)),
        ...GIVEN_LABELS,
        ...MADE_LABELS,
      ]
      return !(
        before === '' &&
        ['critical', 'warning', 'info', 'none'].includes(labels?.severity ?? '') &&
        annotations?.summary &&
        annotations.description &&
        page.includes(`**${alert}**`) &&
        page.includes('## What to do') &&
        list.includes(`| ${alert} `) &&
        mentioned.every((label) => known.includes(label))
      )
    })
    expect(wrong.map(({ alert }) => alert)).toEqual([])
    const pages = new Set(alerts.map(({ annotations }) => basename(annotations?.runbook_url ?? '')))
    expect(
      files('docs/operating/runbooks/*.md')
        .map((path) => basename(path))
        .sort(),
    ).toEqual([...pages, 'README.md'].sort())
  })

  function problemsOf(expression: string): string[] {
    return parsePromql(expression).selectors.flatMap((selector) => {
      if (NOT_SCRAPED.has(selector.metric) || recorded.has(selector.metric)) return []
      const series = scrapes.samples.filter(({ name }) => name === selector.metric)
      if (series.length === 0) return [`${expression}: no process has ${selector.metric}`]
      return selectsSome(selector, series)
        ? []
        : [`${expression}: nothing matches ${JSON.stringify(selector.matchers)}`]
    })
  }

  function selectsSome({ matchers }: Selector, series: readonly Sample[]): boolean {
    const [outcomes, others] = [true, false].map((wanted) =>
      matchers.filter(({ label }) => OUTCOMES.has(label) === wanted),
    )
    const found = series.filter(({ labels }) => (others ?? []).every((matcher) => fits(matcher, labels)))
    return found.length > 0 && (outcomes ?? []).every((matcher) => isPossible(matcher, found))
  }

  function isPossible(matcher: Matcher, series: readonly Sample[]): boolean {
    if (!series.some(({ labels }) => matcher.label in labels)) return false
    const alternatives = /^[\w|]+$/.test(matcher.value) ? matcher.value.split('|') : [matcher.value]
    return alternatives.every((value) =>
      [...KNOWN_VALUES, ...series.map(({ labels }) => labels[matcher.label] ?? '')].some((known) =>
        matches({ ...matcher, operator: matcher.operator.endsWith('~') ? '=~' : '=', value }, known),
      ),
    )
  }

  /** A name in a legend must be a label of the query's result. */
  function legendProblems(expression: string, legend: string): string[] {
    const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? '')
    const { labels } = parsePromql(expression)
    const own = seriesOf(expression).flatMap((sample) => Object.keys(sample.labels))
    const known = /^(?:sum|max|min|avg|topk|histogram_quantile)/.test(expression) ? labels : own
    return named
      .filter((label) => ![...known, ...GIVEN_LABELS, ...MADE_LABELS].includes(label))
      .map((label) => `${expression}: no ${label}`)
  }

  function seriesOf(expression: string): Sample[] {
    const asked = new Set(parsePromql(expression).selectors.map(({ metric }) => metric))
    return scrapes.samples.filter(({ name }) => asked.has(name))
  }
})

function fits(matcher: Matcher, labels: Readonly<Record<string, string>>): boolean {
  return GIVEN_LABELS.has(matcher.label) || matches(matcher, labels[matcher.label] ?? '')
}

describe('traces', () => {
  test('one send is one connected trace: edge, services, SQL, and both deliveries', async () => {
    const path = (name: string): string[] => {
      const span = trace().find((one) => one.name === name)
      return span === undefined ? [] : ancestry(span).map((one) => `${one.service} ${one.name}`)
    }
    const send = [
      'svc-messaging svc.messaging.send-message',
      'svc-gateway svc.messaging.send-message',
      'svc-gateway sendMessage',
    ]
    // Each process sends its spans at its own time.
    await eventually(() => {
      expect(path('sql identity.admit')).toEqual([
        'svc-identity sql identity.admit',
        'svc-identity batch identity.admit',
        'svc-identity svc.identity.admit-request',
        'svc-gateway svc.identity.admit-request',
        'svc-gateway sendMessage',
      ])
      expect(path('sql call budget.reserve').slice(0, 3)).toEqual([
        'svc-budget sql call budget.reserve',
        'svc-budget batch budget.reserve',
        'svc-budget svc.budget.reserve',
      ])
      expect(path('sql call messaging.append_one')).toEqual([
        'svc-messaging sql call messaging.append_one',
        'svc-messaging batch messaging.append',
        ...send,
      ])
      expect(path('stream event')).toEqual(['svc-stream stream event', ...send])
      expect(path('webhook attempt')).toEqual(['svc-webhook webhook attempt', ...send])
      // The trace is connected: one span has no parent, and the parents of all others exist.
      const ids = new Set(trace().map(({ spanId }) => spanId))
      expect(
        trace()
          .filter(({ parentSpanId }) => !ids.has(parentSpanId))
          .map(({ name }) => name),
      ).toEqual(['sendMessage'])
    })
  })

  test('a refusal caused by the client is not a failure of the system; a 500 is', async () => {
    await eventually(() => {
      const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === '')
      const failed = roots.filter(({ isError }) => isError).map(({ attributes }) => attributes['error.type'])
      expect(failed).toContain('internal')
      expect(failed.filter((type) => !['internal', 'unavailable'].includes(String(type)))).toEqual([])
      const codes = roots.map(({ attributes }) => attributes['error.type'])
      expect(codes).toEqual(expect.arrayContaining(['signature_invalid', 'budget_exhausted', 'not_found']))
    })
  })

  /** Each span once, because an exporter repeats an export that got no answer. */
  function trace(): CollectedSpan[] {
    const spans = collector.spans.filter(({ traceId }) => traceId === driven.sentRequestId)
    return [...new Map(spans.map((span) => [span.spanId, span])).values()]
  }

  function ancestry(span: CollectedSpan): CollectedSpan[] {
    const parent = trace().find(({ spanId }) => spanId === span.parentSpanId)
    return [span, ...(parent === undefined ? [] : ancestry(parent))]
  }
})

describe('ADR 22: neither logs nor traces contain bodies, secrets, nonces or signatures', () => {
  test('at the most verbose log level, after successes and failures', async () => {
    const logged = (): string[] =>
      [...h.system.processes.values()].flatMap(({ log }) => log.map((event) => JSON.stringify(event)))
    // This proves that the search works: the 500 is logged, with its cause and without its row.
    await eventually(() => logged().some((line) => line.includes('violates check constraint')))
    const outputs = [...logged(), ...collector.texts]
    const passwords = [
      ...[...SERVICES].map((service) => new URL(h.system.nats.urlFor(service)).password),
      ...(['messaging', 'identity', 'webhook'] as const).map(
        (store) => new URL(h.system.database.urlFor(store)).password,
      ),
    ]
    const nonces = shown.filter((text) => text.length > 15)
    expect(nonces.length).toBeGreaterThan(80)
    const forbidden = [MARK, ...Object.values(SECRETS), ...passwords.filter((text) => text !== ''), ...nonces]
    expect(forbidden.filter((text) => outputs.some((output) => output.includes(text)))).toEqual([])
  })

  test('no log or trace contains the id of an agent', () => {
    const outputs = [...h.system.processes.values()].flatMap(({ log }) => log.map((event) => JSON.stringify(event)))
    const agents = driven.ids.filter((id) => id.length > 30)
    expect(agents.filter((id) => [...outputs, ...collector.texts].some((output) => output.includes(id)))).toEqual([])
  })
})

describe('probes', () => {
  test('without NATS every process is alive but not ready; afterwards all are ready again', async () => {
    const probe = async (path: string): Promise<string[]> => {
      const asked = [...h.system.processes.values()].map((process) => fetch(`${metricsUrl(process)}/${path}`))
      return Promise.all((await Promise.all(asked)).map(async (answer) => `${answer.status} ${await answer.text()}`))
    }
    const all = (text: string): string[] => [...h.system.processes.keys()].map(() => text)
    await h.system.nats.kill()
    await eventually(async () => expect(await probe('ready')).toEqual(all('503 NATS is not connected\n')))
    expect(await probe('live')).toEqual(all('200 ok\n'))
    const { samples } = await scrapeAll(h.system.processes.values())
    const told = samples.filter(({ name }) => ['agentmsg_ready', 'agentmsg_nats_connected'].includes(name))
    expect(new Set(told.map(({ value }) => value))).toEqual(new Set([0]))
    await h.system.nats.restart()
    await eventually(async () => expect(await probe('ready')).toEqual(all('200 ok\n')))
  }, 60_000)
})

interface Dashboard {
  readonly uid: string
  readonly templating: { readonly list: readonly { readonly name: string }[] }
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[] }[]
}

interface RuleGroup {
  readonly name: string
  readonly rules: readonly {
    readonly alert?: string
    readonly record?: string
    readonly expr: string
    readonly labels?: { readonly severity?: string }
    readonly annotations?: { readonly summary?: string; readonly description?: string; readonly runbook_url?: string }
  }[]
}

function files(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT }).map((path) => join(ROOT, path))
}
