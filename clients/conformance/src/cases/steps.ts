/** Runs the steps of a case file. clients/conformance/cases/README.md describes them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type Caller, type CallOptions, untilAdmitted } from '../http/agent.ts'
import type { Answer } from '../http/exchange.ts'
import { openRaw } from '../http/raw.ts'
import type { Respond } from '../run/receiver.ts'
import type { World } from './case.ts'
import { checkAnswer } from './every-answer.ts'
import { mismatch } from './match.ts'
import { outcomeOf } from './outcome.ts'
import { readPages } from './pages.ts'
import { evaluate, lookUp, type Scope } from './value.ts'
import { checkDeliveries, closeStream, openedStream } from './watch.ts'

export interface Step {
  /** The name of the agent that signs; anonymous if absent. */
  readonly as?: string
  /** Method and target, such as `PUT /v2/contacts/${bob.id}`. */
  readonly do?: string
  /** Sends an envelope with these members; the others get fresh values, and it is signed or sealed. */
  readonly send?: EnvelopeAsked
  /** Makes an envelope without sending it. */
  readonly make?: EnvelopeAsked
  readonly body?: unknown
  /** The body as text, sent unchanged. */
  readonly text?: unknown
  readonly headers?: Readonly<Record<string, unknown>>
  readonly sign?: CallOptions['sign']
  readonly gateway?: number
  /** `202`, `409 id_conflict`, or an expectation of status, code, headers, body, text. */
  readonly expect?: unknown
  /** The name under which later steps know the answer, the envelope or the solved challenge. */
  readonly keep?: string
  /** Repeats the step until it is as expected, because the effect may be late. A number is the most seconds that it takes. */
  readonly eventually?: boolean | number
  /** Reads a list to its end: `/v2/inbox?limit=2`. Keeps and compares `items`, `ids` and the `sizes` of pages. */
  readonly pages?: unknown
  /** Sends the request this many times at once. `outcomes` counts the answers. */
  readonly at_once?: number
  readonly outcomes?: Readonly<Record<string, number>>
  /** Steps that run at once. */
  readonly all?: readonly Step[]
  /** What these agents have used today (spec 11.6): members of the budget. */
  readonly spent?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Opens an event stream, such as `GET /v2/stream?after=2`, and waits until its history is replayed. */
  readonly open?: string
  /** Closes a stream. */
  readonly close?: string
  /** The deliveries at this path of the receiver, which are compared with `expect`. */
  readonly deliveries?: string
  /** Says how the receiver answers deliveries at this path: a status, `{ status, headers }`, `hold`, or a list of them. */
  readonly answer?: string
  readonly with?: Respond | readonly Respond[]
  /** Asks for a challenge for the agent's key and solves it. */
  readonly solve?: string
  /** Arguments of the operator's command. */
  readonly operate?: readonly unknown[]
  /** A value to keep. */
  readonly set?: unknown
  /** A value to compare with `expect`. */
  readonly check?: unknown
  /** Bytes for a new connection. `expect` is the list of outcomes, such as `[404 not_found, 200]`. */
  readonly raw?: unknown
  /** Waits for this many seconds. Only for rules about time. */
  readonly wait?: unknown
}

interface EnvelopeAsked {
  /** The name of an agent, or the text of `to`. */
  readonly to: unknown
  readonly body?: unknown
  /** Seals the envelope for this agent. */
  readonly seal_for?: string
  /** Members that are added or replaced after signing. */
  readonly then?: Readonly<Record<string, unknown>>
  /** Members that are removed after signing. */
  readonly without?: readonly string[]
  readonly [member: string]: unknown
}

/** The effects that may be late are within 2 seconds (spec 5.11, 12.4), but a busy machine needs longer. */
const LATE_MS = 20_000
const PAUSE_MS = 100

/** @param scope gets what steps keep. @throws Error that says which step differs, and how. */
export async function runSteps(steps: readonly Step[], scope: Record<string, unknown>, world: World): Promise<void> {
  for (const step of steps) await runStep(step, scope, world)
}

async function runStep(step: Step, scope: Record<string, unknown>, world: World): Promise<void> {
  const { eventually = false } = step
  if (eventually === false) return tryStep(step, scope, world)
  for (const endMs = Date.now() + (eventually === true ? LATE_MS : eventually * 1_000); ; ) {
    try {
      return await tryStep(step, scope, world)
    } catch (error) {
      if (Date.now() > endMs) throw error
    }
    await sleep(PAUSE_MS)
  }
}

async function tryStep(step: Step, scope: Record<string, unknown>, world: World): Promise<void> {
  const value = (given: unknown): unknown => evaluate(given, scope)
  const keep = (kept: unknown): void => {
    if (step.keep !== undefined) scope[step.keep] = kept
  }
  if (step.all !== undefined) await Promise.all(step.all.map((one) => runStep(one, scope, world)))
  else if (step.wait !== undefined) await sleep(Number(value(step.wait)) * 1_000)
  else if (step.set !== undefined) keep(value(step.set))
  else if (step.check !== undefined) fail(mismatch(value(step.check), value(step.expect), JSON.stringify(step.check)))
  else if (step.open !== undefined) keep(await openedStream(step, agentOf(step.as, scope), scope, world))
  else if (step.close !== undefined) closeStream(lookUp(step.close, scope))
  else if (step.answer !== undefined)
    world.receiver.answer(String(value(step.answer)), ...[value(step.with) as Respond].flat())
  else if (step.deliveries !== undefined) keep(checkDeliveries(step, scope, world))
  else if (step.solve !== undefined) keep(await agentOf(step.solve, scope).solve())
  else if (step.operate !== undefined) keep(await world.operator.run(...step.operate.map((one) => String(value(one)))))
  else if (step.make !== undefined) keep(await envelopeOf(step.make, agentOf(step.as, scope), scope))
  else if (step.raw !== undefined) await checkRaw(step, scope, world)
  else if (step.spent !== undefined) await checkSpending(step.spent, scope)
  else if (step.pages !== undefined) {
    const pages = await readPages(callerOf(step.as, scope, world), String(value(step.pages)))
    keep(pages)
    if (step.expect !== undefined) fail(mismatch(pages, { $has: value(step.expect) }, String(step.pages)))
  } else await checkRequest(step, scope, world, keep)
}

async function checkRequest(step: Step, scope: Scope, world: World, keep: (kept: unknown) => void): Promise<void> {
  const value = (given: unknown): unknown => evaluate(given, scope)
  const caller = callerOf(step.as, scope, world)
  const [method = '', ...rest] = (step.send === undefined ? String(value(step.do)) : 'POST /v2/messages').split(' ')
  const body =
    step.send === undefined
      ? (value(step.text) ?? value(step.body) ?? undefined)
      : await envelopeOf(step.send, agentOf(step.as, scope), scope)
  const askOnce = (gateway: number | undefined): Promise<Answer> =>
    caller.call(method, rest.join(' '), {
      body,
      headers: value(step.headers ?? {}) as CallOptions['headers'],
      sign: value(step.sign) as CallOptions['sign'],
      gateway,
      observe: world.observe,
    })
  // Challenges and registrations have a rate of their own, which other cases use up (spec 3.15).
  const isAboutRates = JSON.stringify([step.expect, step.outcomes]).includes('rate_limited')
  const ask = (gateway = step.gateway): Promise<Answer> =>
    isAboutRates ? askOnce(gateway) : untilAdmitted(() => askOnce(gateway))
  if (step.at_once !== undefined) {
    // Over all gateways, so that a rule that holds for each of them alone is not enough.
    const answers = await Promise.all(Array.from({ length: step.at_once }, (_, at) => ask(at + 1)))
    keep({ answers: answers.map(({ status, body, text }) => ({ status, body, text })), sent: body })
    for (const answer of answers) fail(checkAnswer(answer, method), `${method} ${rest.join(' ')}`)
    fail(mismatch(countOutcomes(answers), value(step.outcomes), 'the outcomes'))
    return
  }
  const answer = await ask()
  keep({ ...answer, headers: Object.fromEntries(answer.headers), sent: body })
  const what = `${method} ${rest.join(' ')}`
  fail(checkAnswer(answer, method), what)
  if (step.expect !== undefined) fail(checkExpected(answer, value(step.expect)), what)
}

async function checkRaw(step: Step, scope: Scope, { server }: World): Promise<void> {
  const expected = evaluate(step.expect, scope)
  using connection = openRaw(server.urls[((step.gateway ?? 1) - 1) % server.urls.length] ?? '')
  connection.write(evaluate(step.raw, scope) as string | Uint8Array)
  const answers = await connection.answers(Array.isArray(expected) ? expected.length : 1)
  const what = JSON.stringify(step.raw).slice(0, 100)
  // The answer to bytes that are not well-formed HTTP may have any body (spec 4.1). Such a case has a looser expectation.
  if (Array.isArray(expected)) for (const answer of answers) fail(checkAnswer(answer), what)
  fail(mismatch(answers.map(outcomeOf), expected, 'the answers'), what)
}

const EXPECTED = ['status', 'code', 'headers', 'body', 'text', 'seconds']

/** @returns what differs; undefined if nothing does. */
function checkExpected(answer: Answer, expected: unknown): string | undefined {
  if (typeof expected !== 'object' || expected === null)
    return mismatch(outcomeOf(answer), String(expected), 'the answer')
  const names = Object.keys(expected)
  if (names[0]?.startsWith('$')) return mismatch(outcomeOf(answer), expected, 'the answer')
  const other = names.find((name) => !EXPECTED.includes(name))
  if (other !== undefined) return `expect has the unknown member ${other}`
  const { status, code, headers = {}, body, text, seconds } = expected as Record<string, unknown>
  const { error } = answer.body ?? {}
  return (
    (status === undefined ? undefined : mismatch(answer.status, status, 'the status')) ??
    (code === undefined ? undefined : mismatch(error?.code, code, 'the code')) ??
    (seconds === undefined ? undefined : mismatch(answer.seconds, seconds, 'the seconds until the answer')) ??
    (body === undefined ? undefined : mismatch(answer.body, body, 'the body')) ??
    (text === undefined ? undefined : mismatch(answer.text, text, 'the text of the body')) ??
    Object.entries(headers as object)
      .map(([name, wanted]) => mismatch(answer.headers.get(name), wanted, `the header ${name}`))
      .find((problem) => problem !== undefined)
  )
}

async function checkSpending(spent: NonNullable<Step['spent']>, scope: Scope): Promise<void> {
  for (const [name, expected] of Object.entries(spent)) {
    const { body, text } = await agentOf(name, scope).get('/v2/budget')
    const has = { $has: evaluate(expected, scope) }
    fail(mismatch(body ?? text, has, `the budget of ${name}`))
  }
}

async function envelopeOf(asked: EnvelopeAsked, from: Agent, scope: Scope): Promise<unknown> {
  const { to, body = 'hello', seal_for, then = {}, without = [], ...members } = evaluate(asked, scope) as EnvelopeAsked
  const recipient = scope[String(to)] instanceof Agent ? agentOf(String(to), scope) : String(to)
  const envelope =
    seal_for === undefined
      ? from.envelope(recipient, body, members)
      : await from.sealed(agentOf(seal_for, scope), body, {
          to: recipient instanceof Agent ? recipient.address : recipient,
          ...members,
        })
  const kept = Object.entries(envelope).filter(([name]) => !without.includes(name))
  return { ...Object.fromEntries(kept), ...then }
}

export function countOutcomes(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) counts[outcomeOf(answer)] = (counts[outcomeOf(answer)] ?? 0) + 1
  return counts
}

function callerOf(name: string | undefined, scope: Scope, world: World): Caller {
  return name === undefined || scope[name] === world.anonymous ? world.anonymous : agentOf(name, scope)
}

function agentOf(name: string | undefined, scope: Scope): Agent {
  const agent = lookUp(name ?? 'as', scope)
  if (!(agent instanceof Agent)) throw new Error(`${name} is no agent of this case`)
  return agent
}

function fail(problem: string | undefined, what = ''): void {
  if (problem !== undefined) throw new Error(what === '' ? problem : `${what}: ${problem}`)
}
