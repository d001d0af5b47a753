/** What gateways tell each other, so that rate limits hold over all of them together (spec 3.15). */
import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { defineCall } from './define.ts'

/** A process of the gateway; another one at every start. */
const GatewayId = Type.String({ pattern: '^[0-9a-f]{16}$' })
/** Reports in one message at most. */
export const MAX_RATE_REPORTS = 500
const Requests = Type.Integer({ minimum: 0, maximum: 10_000_000 })
/** Requests that have not come back yet, which happens bit by bit. */
const Level = Type.Number({ minimum: 0, maximum: 100_000_000 })

/** Published on `PRESENCE_SUBJECT`: at the start, once a second, in answer to one that is new, and at the end. */
export const GatewayPresence = Type.Object({
  gateway: GatewayId,
  state: Type.Union([Type.Literal('new'), Type.Literal('here'), Type.Literal('gone')]),
})
export type GatewayPresence = Static<typeof GatewayPresence>

export const PRESENCE_SUBJECT = 'svc.gateway.presence'
const presenceCheck = TypeCompiler.Compile(GatewayPresence)

export function isGatewayPresence(value: unknown): value is GatewayPresence {
  return presenceCheck.Check(value)
}

export const RateLimitName = Type.Union([Type.Literal('requests'), Type.Literal('registrations')])
export type RateLimitName = Static<typeof RateLimitName>

/**
 * Tells the gateway that keeps these clients' buckets what was taken from them, and asks for more. Each process has a
 * subject of its own, `reportRatesTo(gateway)`. Lists of numbers, because there is one for each active client.
 */
export const reportRates = defineCall({
  subject: 'svc.gateway.report-rates',
  request: Type.Object({
    limit: RateLimitName,
    /** Client, taken, asked for, level besides these. */
    reports: Type.Array(Type.Tuple([Type.String({ maxLength: 64 }), Requests, Requests, Level]), {
      maxItems: MAX_RATE_REPORTS,
    }),
  }),
  /** Of each report, in order: granted, level now. */
  reply: Type.Object({ settlements: Type.Array(Type.Tuple([Requests, Level]), { maxItems: MAX_RATE_REPORTS }) }),
})

export function reportRatesTo(gateway: string): string {
  return `${reportRates.subject}.${gateway}`
}
