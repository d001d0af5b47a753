/** Compares what a client did with what the case expects. Each function returns what is wrong, in plain text. */
import { isDeepStrictEqual } from 'node:util'
import type { AdapterReply } from './adapter.ts'
import type { Expectation, Reply, Step } from './case.ts'
import { filledIn } from './cast.ts'
import { CHECKS } from './checks.ts'
import { canonicalText } from './messages.ts'
import type { Seen } from './seen.ts'
import type { ScriptedService } from './service.ts'

/** Timers may end a little early. */
const TIMER_MS = 20
const CLOCK_SECONDS = 30

export function judgeReply({ do: operation, reply = 'ok' }: Step, actual: AdapterReply): string | undefined {
  const expected = filledIn(reply)
  return fits(expected, actual) ? undefined : `${operation} must give ${textOf(expected)}, and gave ${textOf(actual)}`
}

function fits(expected: Reply, actual: AdapterReply): boolean {
  if (expected === 'any') return true
  const value = actual !== 'late' && 'ok' in actual ? actual.ok : undefined
  if (expected === 'ok') return value !== undefined
  if (expected === 'refused') return actual !== 'late' && 'error' in actual
  if ('ok' in expected) return value !== undefined && contains(value, expected.ok)
  if ('not' in expected) return value === undefined || !contains(value, expected.not)
  return actual !== 'late' && 'error' in actual && actual.error.code === expected.error
}

/** Whether a value has all members of the expected one. Lists must be equally long. */
function contains(value: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null || typeof value !== 'object' || value === null)
    return isDeepStrictEqual(value, expected)
  if (Array.isArray(expected) && (!Array.isArray(value) || value.length !== expected.length)) return false
  return Object.entries(expected).every(([name, one]) => contains((value as Record<string, unknown>)[name], one))
}

export async function judgeRequests(service: ScriptedService, expected: Expectation): Promise<string[]> {
  const requests = service.seen.filter(({ route }) => route === expected.requests)
  return [
    ...countFaults(requests, expected),
    ...requests.flatMap((one, at) => [
      ...waitFaults(one, requests[at - 1], expected.waits?.[at - 1]),
      ...clockFaults(one, at, requests, expected),
    ]),
    ...placeFaults(requests, expected),
    ...(expected.same_envelope && new Set(requests.map(({ body }) => canonicalOf(body))).size > 1
      ? ['a repeat carried another envelope: its canonical JSON differs']
      : []),
    ...(await checkFaults(requests, service, expected)),
  ].map((fault) => `${expected.requests}: ${fault}`)
}

function countFaults({ length }: readonly Seen[], { count, at_least, at_most }: Expectation): string[] {
  const isWrong = length !== (count ?? length) || length < (at_least ?? 0) || length > (at_most ?? length)
  const wanted = count ?? (at_least === undefined ? `at most ${at_most}` : `at least ${at_least}`)
  return isWrong ? [`${length} requests came, not ${wanted}`] : []
}

function waitFaults(one: Seen, earlier: Seen | undefined, seconds: number | undefined): string[] {
  if (earlier === undefined || seconds === undefined) return []
  const waitedMs = one.atMs - (earlier.answeredMs ?? earlier.atMs)
  return waitedMs >= seconds * 1000 - TIMER_MS
    ? []
    : [`a repeat came after ${waitedMs} ms, before ${seconds} s had passed`]
}

function clockFaults(one: Seen, at: number, requests: readonly Seen[], expected: Expectation): string[] {
  const { ahead, new_timestamps } = expected
  const timestamp = one.authentication?.timestamp
  if (timestamp === undefined) return []
  const wanted = ahead?.[at] ?? ahead?.at(-1)
  const actual = timestamp - one.atMs / 1000
  const isOff = wanted !== undefined && Math.abs(actual - wanted) > CLOCK_SECONDS
  const isOld = new_timestamps && timestamp <= (requests[at - 1]?.authentication?.timestamp ?? 0)
  return [
    ...(isOff
      ? [`a request was signed with a time ${Math.round(actual)} s ahead of the true one, not ${wanted} s`]
      : []),
    ...(isOld ? ['a repeat had the timestamp of the earlier try'] : []),
  ]
}

function placeFaults(requests: readonly Seen[], { after = [] }: Expectation): string[] {
  const actual = requests.slice(0, after.length).map(({ target, headers }) => {
    const query = new URLSearchParams(target.split('?')[1] ?? '')
    return headers['last-event-id']?.[0] ?? query.get('after') ?? '0'
  })
  const isRight = isDeepStrictEqual(actual, after.map(String))
  return isRight ? [] : [`they read behind ${actual.join(', ')}, not behind ${after.join(', ')}`]
}

async function checkFaults(
  requests: readonly Seen[],
  service: ScriptedService,
  { check }: Expectation,
): Promise<string[]> {
  if (check === undefined) return []
  const found = CHECKS[check]
  if (found === undefined) throw new Error(`there is no check ${check}`)
  const faults: string[] = []
  for await (const fault of found(requests, service)) faults.push(fault)
  return faults
}

function canonicalOf(body: string): string | undefined {
  try {
    return canonicalText(JSON.parse(body))
  } catch {
    return undefined
  }
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}
