/** The discovery manifest, `/.well-known/agent.json`. Source: spec 5.1. */
export interface Manifest {
  readonly service: string
  readonly version: string
  /** Every request signature names it, and every address ends with it: `<name>@<authority>`. */
  readonly authority: string
  /** Path prefix of the API, `/v2`. */
  readonly api: string
  /** Path of the OpenAPI description. */
  readonly openapi: string
  readonly signature: {
    readonly scheme: string
    readonly version: string
    /** How far a request's timestamp may be off in either direction, in seconds. */
    readonly tolerance_seconds: number
  }
  readonly registration: {
    readonly algorithm: string
    /** Leading zero bits of the proof of work. */
    readonly difficulty: number
    /** Lifetime of a challenge in seconds. */
    readonly challenge_seconds: number
  }
  readonly envelope: {
    readonly canonicalization: string
    readonly signature: string
    readonly sealing: string
  }
  /** Limits by name. A newer service may have more. */
  readonly limits: Readonly<Record<string, number>>
  /** How long messages and events are kept, in days. */
  readonly retention_days: number
}
