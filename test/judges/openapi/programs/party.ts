/** An agent, as a program with a generated client has it: who it is, and the two things that a description cannot express. */
export interface Party {
  readonly name: string
  readonly agentId: string
  /** Signs each request. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Makes a signed envelope. */
  readonly compose: (to: string, body: unknown) => SignedEnvelope
}

interface SignedEnvelope {
  id: string
  from: string
  to: string
  type: 'request'
  ts: string
  body: unknown
  sig: string
}

/** What a conversation brought, so that the test can compare it. */
export interface Conversation {
  readonly address: string
  readonly lane: string
  readonly received: unknown
  readonly status: string
  readonly usedUnits: number
  readonly boardTitle: string
  /** The code of an error, as the generated types have it. */
  readonly refusal: 'not_found' | 'other'
}
