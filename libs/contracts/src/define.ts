import type { Static, TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'

/** Sent with every call: the trace that the work belongs to, and its deadline. */
export interface CallContext {
  /** W3C trace context. Its trace id is the `X-Request-Id` of the client's answer. */
  readonly traceparent: string
  /** Epoch milliseconds. The caller stops waiting at this time. */
  readonly deadlineMs: number
  /** The operator who makes the call. It comes from the subject, which NATS enforces, never from the payload. Undefined for a service. */
  readonly operator?: string | undefined
}

/** The schemas as defined. The comparison of a release with the previous one uses them (test/tools/check/release-growth.ts). */
export interface CallSchemas {
  readonly request: TSchema
  readonly reply: TSchema
}

/** A request-reply over NATS with a JSON answer. */
export interface Call<Request, Reply> {
  readonly kind: 'json'
  readonly subject: string
  /** The name in metrics and traces. Needed only if the subject contains an id. */
  readonly name?: string
  readonly isRequest: (value: unknown) => value is Request
  readonly isReply: (value: unknown) => value is Reply
  /** See `defineCall`. A method, so that a list may hold calls of different types. */
  isAnswerTo(request: Request, reply: Reply): boolean
  readonly schemas: CallSchemas
}

/** The answer of a text call: a few facts, and JSON that the client gets unchanged. */
export interface TextReply<Meta> {
  readonly meta: Meta
  /** JSON without raw line feeds. */
  readonly text: string
}

/** A request-reply over NATS whose answer is text that is not parsed on its way, such as a page of stored envelopes. */
export interface TextCall<Request, Meta> {
  readonly kind: 'text'
  readonly subject: string
  /** As in `Call`. */
  readonly name?: string
  readonly isRequest: (value: unknown) => value is Request
  readonly isReply: (value: unknown) => value is Meta
  /** As in `Call`. */
  isAnswerTo(request: Request, meta: Meta): boolean
  readonly schemas: CallSchemas
}

export type RequestOf<C> = C extends { isRequest: (value: unknown) => value is infer Q } ? Q : never
export type ReplyOf<C> = C extends { kind: 'json'; isReply: (value: unknown) => value is infer R }
  ? R
  : C extends { kind: 'text'; isReply: (value: unknown) => value is infer M }
    ? TextReply<M>
    : never

/**
 * Defines a call. Its schemas give the types, and both ends check them. Subjects are `svc.<service>.<call>`.
 * `isAnswerTo` says whether a well-formed reply belongs to the request, e.g. names the agent that was asked for. The caller
 * refuses any other reply, so a faulty or compromised process cannot pass off one thing as another.
 */
export function defineCall<Q extends TSchema, R extends TSchema>(definition: {
  subject: string
  request: Q
  reply: R
  isAnswerTo?: (request: Static<Q>, reply: Static<R>) => boolean
}): Call<Static<Q>, Static<R>> {
  return {
    kind: 'json',
    subject: definition.subject,
    isRequest: checkerOf(definition.request),
    isReply: checkerOf(definition.reply),
    isAnswerTo: definition.isAnswerTo ?? (() => true),
    schemas: { request: definition.request, reply: definition.reply },
  }
}

/** Like `defineCall`, for answers of `{ meta, text }`. */
export function defineTextCall<Q extends TSchema, M extends TSchema>(definition: {
  subject: string
  request: Q
  meta: M
  isAnswerTo?: (request: Static<Q>, meta: Static<M>) => boolean
}): TextCall<Static<Q>, Static<M>> {
  return {
    kind: 'text',
    subject: definition.subject,
    isRequest: checkerOf(definition.request),
    isReply: checkerOf(definition.meta),
    isAnswerTo: definition.isAnswerTo ?? (() => true),
    schemas: { request: definition.request, reply: definition.meta },
  }
}

/**
 * Services ignore undeclared members in each other's messages, so that old and new code can run side by side while
 * contracts grow. Only the gateway checks public input against the closed schemas.
 */
function checkerOf<S extends TSchema>(schema: S): (value: unknown) => value is Static<S> {
  // Compiled by the first check. Compiling takes a tenth of the CPU time of a start, and a process uses few of the calls that it imports.
  let compiled: TypeCheck<S> | undefined
  return (value): value is Static<S> => {
    compiled ??= TypeCompiler.Compile(opened(schema))
    return compiled.Check(value)
  }
}

/** Copies the schema so that all of its objects accept undeclared members. */
function opened<S>(schema: S): S {
  if (Array.isArray(schema)) return schema.map(opened) as S
  if (typeof schema !== 'object' || schema === null) return schema
  // Spreading keeps the symbols that TypeBox recognizes a schema by.
  const copy = { ...schema } as Record<string, unknown>
  delete copy.additionalProperties
  for (const [key, value] of Object.entries(copy)) copy[key] = opened(value)
  return copy as S
}
