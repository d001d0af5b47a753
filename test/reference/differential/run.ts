/** Gives the same operations to two servers and compares what they answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Agent, anonymous } from '@svc/conformance/http/agent.ts'
import type { Answer } from '@svc/conformance/http/exchange.ts'
import type { Server } from '@svc/conformance/http/server.ts'
import { AGENTS, type Operation, SHORT_TTL_SECONDS } from './operation.ts'
import type { Request } from './request.ts'
import { requestOf } from './requests.ts'
import { comparable, newPrefix, type Plan, type World } from './world.ts'

/** How long the service may take to settle a charge. Budgets that differ are read again until then. */
const SETTLE_MS = 3_000
const PAUSE_MS = 50
/** Requests take less. No request is sent so shortly before a message expires, as one server could answer before and one after. */
const EXPIRY_MARGIN_MS = 1_500
/** Every agent has used it. */
const NONCE = 'ab'.repeat(16)

class Difference extends Error {}

/**
 * @param servers ours and the model, with the same authority.
 * @param onDifference called for each operation whose answers differ. By default it throws, as the worlds may differ from then on.
 */
export async function compare(
  operations: readonly Operation[],
  servers: readonly [Server, Server],
  onDifference: (difference: Difference) => void = fail,
): Promise<void> {
  const plan: Plan = { prefix: newPrefix(), messages: [], nowMs: () => Date.now() }
  const [ours, model] = await worldsOf(servers, plan)
  for (const [at, operation] of operations.entries()) {
    await passExpiry(plan)
    // Both get the same time, so that both envelopes have the same bytes.
    const nowMs = Date.now()
    const now: Plan = { ...plan, nowMs: () => nowMs }
    const requests = [requestOf(operation, ours, now, at), requestOf(operation, model, now, at)] as const
    const ask = () => Promise.all([call(operation, requests[0], ours), call(operation, requests[1], model)])
    let answers = await ask()
    noteBoards(answers, [ours, model])
    const isSame = (): boolean =>
      isDeepStrictEqual(comparable(answers[0], ours, plan), comparable(answers[1], model, plan))
    for (const endMs = Date.now() + SETTLE_MS; !isSame() && isLate(operation, answers) && Date.now() < endMs; ) {
      await sleep(PAUSE_MS)
      answers = await ask()
    }
    if (!isSame())
      onDifference(
        new Difference(
          describe(operation, requests[0], [comparable(answers[0], ours, plan), comparable(answers[1], model, plan)]),
        ),
      )
    keep({ operation, requests, answers }, [ours, model], plan)
  }
}

function fail(difference: Difference): never {
  throw difference
}

/** Waits until the messages that expire about now have expired. */
async function passExpiry({ messages }: Plan): Promise<void> {
  const nowMs = Date.now()
  const ends = messages
    .map(({ expiresMs }) => expiresMs)
    .filter((endMs) => endMs > nowMs && endMs < nowMs + EXPIRY_MARGIN_MS)
  if (ends.length > 0) await sleep(Math.max(...ends) - nowMs + PAUSE_MS)
}

async function worldsOf(servers: readonly [Server, Server], { prefix }: Plan): Promise<[World, World]> {
  const [server, model] = servers
  const agents = Array.from({ length: AGENTS }, (_, at) => new Agent(server, `${prefix}-${at}`))
  const twins = agents.map(({ name, key }) => new Agent(model, name, key))
  await Promise.all([...agents, ...twins].map((agent) => agent.register()))
  const worldOf = (name: string, own: readonly Agent[]): World => ({
    name,
    agents: own,
    boards: [],
    cursors: new Map(),
    nonce: NONCE,
  })
  await Promise.all([...agents, ...twins].map((agent) => agent.get('/v2/me', { sign: { nonce: NONCE } })))
  return [worldOf('the service', agents), worldOf('the reference', twins)]
}

/** Repeats after a 503, as a client does (spec 13.2). */
async function call(operation: Operation, request: Request, world: World): Promise<Answer> {
  const by = request.by ?? operation.by
  const caller = by === undefined || by < 0 ? anonymous(world.agents[0]?.server as Server) : (world.agents[by] as Agent)
  for (;;) {
    const answer = await caller.call(request.method, request.target, request.options)
    if (answer.status !== 503) return answer
    await sleep(PAUSE_MS)
  }
}

/** The service may return a released charge late, so a budget, and a `budget_exhausted`, may differ for a moment. */
function isLate(operation: Operation, [ours]: readonly [Answer, Answer]): boolean {
  return (operation.kind === 'look' && operation.what === 'budget') || ours.body?.error?.code === 'budget_exhausted'
}

/** A board that both created. Each server chooses its own id. */
function noteBoards(answers: readonly [Answer, Answer], worlds: readonly [World, World]): void {
  const ids = answers.map(({ status, body }) =>
    status === 201 && body.posting !== undefined ? (body.id as string) : undefined,
  )
  for (const [at, world] of worlds.entries()) if (!ids.includes(undefined)) world.boards.push(ids[at] ?? '')
}

interface Done {
  readonly operation: Operation
  readonly requests: readonly [Request, Request]
  readonly answers: readonly [Answer, Answer]
}

function keep({ operation, requests, answers }: Done, [ours, model]: readonly [World, World], plan: Plan): void {
  const { sends } = requests[0]
  if (answers[0].status === 202 && sends !== undefined) {
    const envelopes = new Map([
      [ours, sends.envelope],
      [model, requests[1].sends?.envelope ?? {}],
    ])
    const { ttl, ts } = sends.envelope as { ttl?: number; ts: string }
    const expiresMs =
      ttl === SHORT_TTL_SECONDS ? (Math.floor(Date.parse(ts) / 1_000) + ttl) * 1_000 : Number.POSITIVE_INFINITY
    plan.messages.push({ id: sends.id, sender: operation.by ?? 0, board: sends.board, envelopes, expiresMs })
  }
  for (const [world, answer, request] of [
    [ours, answers[0], requests[0]],
    [model, answers[1], requests[1]],
  ] as const) {
    const cursor: unknown = answer.body?.next_cursor
    if (request.list !== undefined && typeof cursor === 'string' && cursor !== '')
      world.cursors.set(request.list, cursor)
  }
}

function describe(
  operation: Operation,
  { method, target, options }: Request,
  [ours, model]: readonly [unknown, unknown],
): string {
  return [
    `the servers differ on ${JSON.stringify(operation)}`,
    `request        ${method} ${target} ${JSON.stringify(options ?? {}).slice(0, 600)}`,
    `the service    ${JSON.stringify(ours)}`,
    `the reference  ${JSON.stringify(model)}`,
  ].join('\n')
}
