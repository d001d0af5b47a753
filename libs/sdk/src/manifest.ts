/** The discovery manifest, `/.well-known/agent.json`. Source: spec 5.1. */
export interface Manifest {
  readonly service: string
  readonly version: string
  /** What every request signature names, and what addresses end with: `<name>@<authority>`. */
  readonly authority: string
  /** Path prefix of the API, `/v2`. */
  readonly api: string
  /** Path of the OpenAPI description. */
  readonly openapi: string
  readonly signature: {
    readonly scheme: string
    readonly version: string
    /** Seconds that a request's timestamp may be off, either way. */
    readonly tolerance_seconds: number
  }
  readonly registration: {
    readonly algorithm: string
    /** Leading zero bits of the proof of work. */
    readonly difficulty: number
    /** Seconds that a challenge lives. */
    readonly challenge_seconds: number
  }
  readonly envelope: {
    readonly canonicalization: string
    readonly signature: string
    readonly sealing: string
  }
  /** Every limit by its name; a newer service may have more. */
  readonly limits: Readonly<Record<string, number>>
  /** Days that messages and events are kept. */
  readonly retention_days: number
}
