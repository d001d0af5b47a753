/** What an operation answers, ready to be written: a body is never serialized again on the way out. */
export interface Answer {
  readonly status: number
  /** JSON, unless the headers name another type. */
  readonly text: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** The same text compressed, for clients that accept it so. */
  readonly gzip?: Buffer
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, text: JSON.stringify(value) }
}

/** @param text JSON that another service assembled. */
export function textAnswer(status: number, text: string, headers?: Answer['headers']): Answer {
  return headers === undefined ? { status, text } : { status, text, headers }
}
