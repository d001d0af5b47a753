/** An error for the agent instead of a result. The text contains nothing that others wrote. */
export class ToolError extends Error {
  override name = 'ToolError'
  /** Stable, so that the agent can base decisions on it. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
