/** What the agent is told instead of a result. The text holds nothing that others wrote. */
export class ToolError extends Error {
  override name = 'ToolError'
  /** To decide by; stable. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
