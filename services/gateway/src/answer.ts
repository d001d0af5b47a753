import type { Readable } from 'node:stream'

/** What an operation answers, ready to be written: a body is never serialized again on the way out. */
export interface Answer {
  readonly status: number
  /** JSON, unless the headers name another type. */
  readonly text: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** In the place of the text: bytes that all requests for a document share, plain and compressed. */
  readonly document?: { readonly plain: Buffer; readonly gzip: Buffer }
  /** In the place of the text: bytes that are passed on as they come, no faster than the client takes them. */
  readonly stream?: Readable
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, text: JSON.stringify(value) }
}

/** @param text JSON that another service assembled. */
export function textAnswer(status: number, text: string, headers?: Answer['headers']): Answer {
  return headers === undefined ? { status, text } : { status, text, headers }
}
