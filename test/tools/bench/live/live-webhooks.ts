/**
 * Webhooks: deliveries per second, compared with the same HTTPS client without a queue. Also measures how an endpoint that
 * hangs, with 10,000 queued jobs, delays the deliveries of others.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { generate } from 'selfsigned'
import { type BenchSystem, startBenchSystem } from '../bench-system.ts'
import { type BenchAgent, dataOf, envelopeText, registerMany, setWebhook } from '../load/bench-agents.ts'
import { median, percentile } from '../load/http-load.ts'
import { askClient, type LiveOptions, startClient } from './live-client-process.ts'
import type { ReceiverOrder, ReceiverReport } from './live-receiver.ts'

const ENDPOINTS = [1, 10, 100]
const PER_ENDPOINT = 2
/** Enough for a second or two. A single endpoint gets fewer, because it receives at most two at a time. */
const JOBS = 1_500
const JOBS_OF_ONE = 500
const DRAIN_LIMIT_MS = 60_000
/** Endpoints besides the one that hangs, and the deliveries to them per second, far below the machine's capacity. */
const OTHERS = 10
const SENT_PER_SECOND = 40
const QUEUED = 10_000
const SETTLE_MS = 2_000
/** Time for the work that queueing leaves behind, in both cases. */
const QUIET_MS = 3_000

/** A process that can use the service's own HTTPS client. */
const POSTER = '../../../../services/webhook/test/bench-poster.ts'

export interface PosterOrder {
  urls: string[]
  count: number
  body: string
  perEndpoint: number
}

export interface PosterReport {
  delivered: number
  elapsedMs: number
}

interface Scene {
  readonly system: BenchSystem
  readonly agents: readonly BenchAgent[]
  readonly receiver: ChildProcess
  readonly host: string
  readonly sql: postgres.Sql
}

export async function benchWebhooks(options: LiveOptions): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-webhooks-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const { certFile, keyFile } = await writeCertificate(folder)
  const env = { ...process.env, RECEIVER_CERT: certFile, RECEIVER_KEY: keyFile, NODE_EXTRA_CA_CERTS: certFile }
  const start = (file: string): ChildProcess =>
    stack.adopt(fork(fileURLToPath(new URL(file, import.meta.url)), { env }), (child) => void child.kill())
  const receiver = start('./live-receiver.ts')
  const [{ port }] = (await once(receiver, 'message')) as [{ port: number }]
  const host = `127.0.0.1:${port}`
  const system = stack.use(
    await startBenchSystem({ SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: host, NODE_EXTRA_CA_CERTS: certFile }),
  )
  const url = `http://${system.authority}`
  const agents = await registerMany(Math.max(...ENDPOINTS), system.authority)
  for (const [at, agent] of agents.entries()) await setWebhook(agent, `https://${host}/${at}`, url, system.authority)
  const sql = stack.adopt(postgres(system.adminUrl, { max: 1 }), (open) => open.end())
  const scene: Scene = { system, agents, receiver, host, sql }

  await benchRates(scene, start(POSTER), options)
  await benchHanging(scene, options)
}

async function benchRates(scene: Scene, poster: ChildProcess, { rounds }: LiveOptions): Promise<void> {
  const figures = ENDPOINTS.map((endpoints) => ({ endpoints, system: [] as number[], floor: [] as number[] }))
  for (let round = -1; round < rounds; round += 1) {
    for (const { endpoints, system, floor } of figures) {
      const [ours, theirs] = [await deliverQueued(scene, endpoints), await postAll(scene, poster, endpoints)]
      if (round < 0) continue // warm-up
      system.push(ours)
      floor.push(theirs)
    }
  }
  console.log(`Webhooks, medians of ${rounds} rounds; the floor is the same HTTPS client, posting without a queue\n`)
  console.log('| endpoints | deliveries/s | floor | of the floor |')
  console.log('|---|---|---|---|')
  for (const { endpoints, system, floor } of figures) {
    const ratio = median(system.map((rate, at) => rate / (floor[at] ?? Number.NaN)))
    console.log(`| ${endpoints} | ${median(system).toFixed(0)} | ${median(floor).toFixed(0)} | ${ratio.toFixed(2)} |`)
  }
}

/**
 * Queues jobs in the service's table, and waits until all are delivered.
 * @returns deliveries per second.
 */
async function deliverQueued({ agents, receiver, sql, host }: Scene, endpoints: number): Promise<number> {
  await ask(receiver, { kind: 'forget' })
  const count = endpoints === 1 ? JOBS_OF_ONE : JOBS
  await queueJobs(sql, agents.slice(0, endpoints), count, host)
  const report = await ask(receiver, { kind: 'await', count, limitMs: DRAIN_LIMIT_MS })
  if (report.kind !== 'awaited' || report.count < count) throw new Error('some jobs were not delivered')
  return ((count - 1) / (report.lastMs - report.firstMs)) * 1_000
}

async function postAll({ agents, host }: Scene, poster: ChildProcess, endpoints: number): Promise<number> {
  const urls = Array.from({ length: endpoints }, (_, at) => `https://${host}/${at}`)
  const count = endpoints === 1 ? JOBS_OF_ONE : JOBS
  poster.send({ urls, count, body: bodyOf(agents), perEndpoint: PER_ENDPOINT })
  const [{ delivered, elapsedMs }] = (await once(poster, 'message')) as [PosterReport]
  if (delivered < count) throw new Error('some requests were not posted')
  return (delivered / elapsedMs) * 1_000
}

async function benchHanging(scene: Scene, { rounds, secondsPerRound }: LiveOptions): Promise<void> {
  const { system, agents, receiver, host, sql } = scene
  const [others, hanging] = [agents.slice(0, OTHERS), agents[OTHERS]]
  if (hanging === undefined) throw new RangeError('no agents')
  const url = `http://${system.authority}`
  await setWebhook(hanging, `https://${host}/hangs`, url, system.authority)
  using client = disposable(startClient())
  const measure = async (): Promise<number[]> => {
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    await ask(receiver, { kind: 'forget' })
    const order = { port: system.port, authority: system.authority, agents: others.map(dataOf) }
    const report = await askClient(client.child, {
      kind: 'send',
      perSecond: SENT_PER_SECOND,
      seconds: secondsPerRound,
      ...order,
    })
    if (report.kind !== 'sent') throw new Error('this is not the expected kind of report')
    const answered = new Map(report.answered)
    await ask(receiver, { kind: 'await', count: answered.size, limitMs: SETTLE_MS })
    const came = await ask(receiver, { kind: 'report' })
    if (came.kind !== 'arrivals' || came.arrivals.length < answered.size)
      throw new Error('some messages were not delivered')
    return came.arrivals.map(([id, ms]) => Math.max(0, ms - (answered.get(id) ?? ms))).toSorted((a, b) => a - b)
  }
  await measure()
  const without: number[] = []
  const beside: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    without.push(...(await measure()))
    await queueJobs(sql, [hanging], QUEUED, host)
    beside.push(...(await measure()))
    await sql`delete from webhook.jobs where agent_id = ${hanging.agentId} and lease is null`
  }
  // All rounds together, because a single round has too few deliveries for a 99th percentile.
  for (const all of [without, beside]) all.sort((a, b) => a - b)
  const cells = (all: number[]): string => [0.5, 0.99].map((share) => percentile(all, share).toFixed(1)).join(' | ')
  console.log(
    `\n${OTHERS} endpoints, ${SENT_PER_SECOND} messages/s, beside one that hangs with ${QUEUED} jobs queued\n`,
  )
  console.log(`| from acceptance to the endpoint, ${without.length} each | p50 ms | p99 ms |`)
  console.log('|---|---|---|')
  console.log(`| without it | ${cells(without)} |`)
  console.log(`| beside it | ${cells(beside)} |`)
  console.log(`\np99 beside it, of that without: ${(percentile(beside, 0.99) / percentile(without, 0.99)).toFixed(2)}`)
}

/** Creates all jobs at once, as messaging's events would: due now, and spread evenly over the endpoints. */
async function queueJobs(
  sql: postgres.Sql,
  agents: readonly BenchAgent[],
  count: number,
  prefix: string,
): Promise<void> {
  const ids = agents.map(({ agentId }) => agentId)
  await sql`
    insert into webhook.jobs (configuration, message_id, agent_id, body, expires_at, due_at)
    select e.configuration, ${prefix} || '-' || clock_timestamp() || '-' || n, e.agent_id, ${bodyOf(agents)},
      4000000000, statement_timestamp()
    from generate_series(0, ${count - 1}::integer) n
    join webhook.endpoints e on e.agent_id = (${ids}::text[])[1 + n % ${ids.length}::integer]`
  await sql`update webhook.endpoints set due_at = statement_timestamp() where agent_id = any (${ids})`
}

function bodyOf([from]: readonly BenchAgent[]): string {
  if (from === undefined) throw new RangeError('no agents')
  return envelopeText(from, 'bench@127.0.0.1')
}

async function writeCertificate(folder: string): Promise<{ certFile: string; keyFile: string }> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'bench' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [{ type: 7 as const, ip: '127.0.0.1' }] },
    ],
  })
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  return { certFile, keyFile }
}

async function ask(receiver: ChildProcess, order: ReceiverOrder): Promise<ReceiverReport> {
  const answer = once(receiver, 'message')
  receiver.send(order)
  const [report] = (await answer) as [ReceiverReport]
  return report
}

function disposable(child: ChildProcess): Disposable & { child: ChildProcess } {
  return { child, [Symbol.dispose]: () => void child.kill() }
}
