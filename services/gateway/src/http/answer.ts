import type { Readable } from 'node:stream'

/** The answer of an operation, ready to be written. The body is never serialized again. */
export type Answer = TextAnswer | DocumentAnswer

interface Head {
  readonly status: number
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Text, or a stream. */
export interface TextAnswer extends Head {
  /** JSON, unless the headers name another type. */
  readonly text: string
  /** Replaces the text: bytes that are passed on as they arrive, no faster than the client reads them. */
  readonly stream?: Readable
  readonly document?: undefined
}

/** A document, whose operation declares that it answers one. */
export interface DocumentAnswer extends Head {
  /** Its bytes, plain and compressed, shared by all requests for it. */
  readonly document: { readonly plain: Buffer; readonly gzip: Buffer; readonly brotli?: Buffer }
}

export function jsonAnswer(status: number, value: unknown): TextAnswer {
  return { status, text: JSON.stringify(value) }
}

/** @param text JSON that another service has serialized. */
export function textAnswer(status: number, text: string, headers?: Head['headers']): TextAnswer {
  return headers === undefined ? { status, text } : { status, text, headers }
}
