import type { Static, TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'

/** Travels with every call: whose work it is, and until when it is worth doing. */
export interface CallContext {
  /** W3C trace context; its trace id is the `X-Request-Id` of the client's answer. */
  readonly traceparent: string
  /** Epoch milliseconds; past this nobody waits for the answer. */
  readonly deadlineMs: number
}

/** As they were defined: for whoever holds a release against the one before (test/check/release-growth.ts). */
export interface CallSchemas {
  readonly request: TSchema
  readonly reply: TSchema
}

/** A request-reply over NATS with a JSON answer. */
export interface Call<Request, Reply> {
  readonly kind: 'json'
  readonly subject: string
  /** What it is called in metrics and traces, where that is not the subject, which then has an id in it. */
  readonly name?: string
  readonly isRequest: (value: unknown) => value is Request
  readonly isReply: (value: unknown) => value is Reply
  readonly schemas: CallSchemas
}

/** What a text call answers: a few facts, and JSON that is ready to be written to the client as it is. */
export interface TextReply<Meta> {
  readonly meta: Meta
  /** JSON without raw line feeds. */
  readonly text: string
}

/** A request-reply over NATS whose answer is text that nobody on the way parses: pages of stored envelopes. */
export interface TextCall<Request, Meta> {
  readonly kind: 'text'
  readonly subject: string
  /** As in `Call`. */
  readonly name?: string
  readonly isRequest: (value: unknown) => value is Request
  readonly isReply: (value: unknown) => value is Meta
  readonly schemas: CallSchemas
}

export type RequestOf<C> = C extends { isRequest: (value: unknown) => value is infer Q } ? Q : never
export type ReplyOf<C> = C extends { kind: 'json'; isReply: (value: unknown) => value is infer R }
  ? R
  : C extends { kind: 'text'; isReply: (value: unknown) => value is infer M }
    ? TextReply<M>
    : never

/** Defines a call; the schemas are its types and are checked at both ends. Subjects are `svc.<service>.<call>`. */
export function defineCall<Q extends TSchema, R extends TSchema>(definition: {
  subject: string
  request: Q
  reply: R
}): Call<Static<Q>, Static<R>> {
  return {
    kind: 'json',
    subject: definition.subject,
    isRequest: checkerOf(definition.request),
    isReply: checkerOf(definition.reply),
    schemas: { request: definition.request, reply: definition.reply },
  }
}

/** As `defineCall`, for answers of `{ meta, text }`. */
export function defineTextCall<Q extends TSchema, M extends TSchema>(definition: {
  subject: string
  request: Q
  meta: M
}): TextCall<Static<Q>, Static<M>> {
  return {
    kind: 'text',
    subject: definition.subject,
    isRequest: checkerOf(definition.request),
    isReply: checkerOf(definition.meta),
    schemas: { request: definition.request, reply: definition.meta },
  }
}

/**
 * Between services undeclared members are ignored, so that old and new code run side by side while contracts grow; what
 * the public sends is held to its closed schema at the edge.
 */
function checkerOf<S extends TSchema>(schema: S): (value: unknown) => value is Static<S> {
  const compiled = TypeCompiler.Compile(opened(schema))
  return (value): value is Static<S> => compiled.Check(value)
}

/** The schema with all of its objects open. */
function opened<S>(schema: S): S {
  if (Array.isArray(schema)) return schema.map(opened) as S
  if (typeof schema !== 'object' || schema === null) return schema
  // Spreading keeps the symbols that tell TypeBox what a schema is.
  const copy = { ...schema } as Record<string, unknown>
  delete copy.additionalProperties
  for (const [key, value] of Object.entries(copy)) copy[key] = opened(value)
  return copy as S
}
