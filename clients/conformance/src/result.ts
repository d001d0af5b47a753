/** What a run finds out. Both suites, for servers and for clients, report in this form. */

/** One request and its answer, as bytes on the wire show them. */
export interface Exchange {
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string | readonly string[]>>
    readonly body?: string | undefined
    /** The name of the agent that signed the request. */
    readonly signer?: string | undefined
    /** The seven lines that were signed (spec 3.3). */
    readonly signedString?: string | undefined
  }
  readonly answer: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
}

export interface CaseResult {
  /** `messages/retries/the-id-of-a-refused-message-stays-free`: stable, and unique in its suite. */
  readonly id: string
  readonly title: string
  /** The sections that the case checks, such as `7.4`. */
  readonly spec: readonly string[]
  readonly status: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped, in plain text. */
  readonly reason?: string | undefined
  /** What the case sent, in order. The last one is what the reason is about. */
  readonly exchanges: readonly Exchange[]
  readonly milliseconds: number
}
