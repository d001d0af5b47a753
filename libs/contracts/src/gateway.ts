/** Messages between gateways, so that rate limits apply to all gateways together (spec 3.15). */
import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { defineCall } from './define.ts'

/** Identifies a gateway process. Every start creates a new id. */
const GatewayId = Type.String({ pattern: '^[0-9a-f]{16}$' })
/** Maximum of reports per message. */
export const MAX_RATE_REPORTS = 500
const Requests = Type.Integer({ minimum: 0, maximum: 10_000_000 })
/** Requests taken from a bucket and not yet refilled. A fraction, because a bucket refills continuously. */
const Level = Type.Number({ minimum: 0, maximum: 100_000_000 })

/** Published on `PRESENCE_SUBJECT` at the start, once a second, in reply to a new gateway, and at the end. */
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
 * Reports to the gateway that keeps these clients' buckets how many requests were taken from them, and asks for more. Each
 * process has its own subject, `reportRatesTo(gateway)`. The reports are tuples of numbers, which are small, because every
 * active client has one.
 */
export const reportRates = defineCall({
  subject: 'svc.gateway.report-rates',
  request: Type.Object({
    limit: RateLimitName,
    /** Client, number taken, number requested, level without these two. */
    reports: Type.Array(Type.Tuple([Type.String({ maxLength: 64 }), Requests, Requests, Level]), {
      maxItems: MAX_RATE_REPORTS,
    }),
  }),
  /** For each report, in order: number granted, current level. */
  reply: Type.Object({ settlements: Type.Array(Type.Tuple([Requests, Level]), { maxItems: MAX_RATE_REPORTS }) }),
})

export function reportRatesTo(gateway: string): string {
  return `${reportRates.subject}.${gateway}`
}
