import type { Body, Call, CallKind } from './calls.ts'
import type { Entry } from './history.ts'

/** One request and its answer. */
export interface Attempt<Kind extends CallKind = CallKind> {
  readonly n: number
  readonly op: number
  readonly actor: string
  readonly call: Extract<Call, { kind: Kind }>
  readonly startMs: number
  /** When the answer arrived or the client gave up. */
  readonly endMs: number
  /** Null if there was no answer. */
  readonly status: number | null
  readonly body: Body
  /** The request may have taken effect, even later than `endMs`. */
  readonly unknown: boolean
}

/** Pairs requests with their answers, in the order of the requests. */
export function attemptsOf(entries: readonly Entry[]): Attempt[] {
  const answers = new Map(entries.flatMap((entry) => (entry.type === 'answer' ? [[entry.n, entry] as const] : [])))
  return entries.flatMap((entry) => {
    if (entry.type !== 'call') return []
    const answer = answers.get(entry.n)
    const status = answer?.status ?? null
    return [
      {
        n: entry.n,
        op: entry.op,
        actor: entry.actor,
        call: entry.call,
        startMs: entry.atMs,
        endMs: answer?.atMs ?? Number.POSITIVE_INFINITY,
        status,
        body: answer?.body ?? {},
        unknown: status === null || status >= 500,
      },
    ]
  })
}

/** The attempts of one kind. */
export function ofKind<Kind extends CallKind>(attempts: readonly Attempt[], kind: Kind): Attempt<Kind>[] {
  const isOfKind = (attempt: Attempt): attempt is Attempt<Kind> & Attempt => attempt.call.kind === kind
  return attempts.filter(isOfKind)
}
