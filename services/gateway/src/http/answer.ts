import type { Readable } from 'node:stream'

/** The answer of an operation, ready to be written. The body is never serialized again. */
export interface Answer {
  readonly status: number
  /** JSON, unless the headers name another type. */
  readonly text: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Replaces the text: the bytes of a document, plain and compressed, shared by all requests for it. */
  readonly document?: { readonly plain: Buffer; readonly gzip: Buffer; readonly brotli?: Buffer }
  /** Replaces the text: bytes that are passed on as they arrive, no faster than the client reads them. */
  readonly stream?: Readable
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, text: JSON.stringify(value) }
}

/** @param text JSON that another service has serialized. */
export function textAnswer(status: number, text: string, headers?: Answer['headers']): Answer {
  return headers === undefined ? { status, text } : { status, text, headers }
}
