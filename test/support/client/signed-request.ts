/** Requests signed by spec 3.3. A test can make any single part invalid. */
import { createHash, randomBytes } from 'node:crypto'
import { signBytes } from '@svc/svc1/sign.ts'
import type { Agent, HttpAnswer } from './agent.ts'
import { exchange } from './raw-http.ts'

export const AUTHORIZATION = 'authorization'
export const TIMESTAMP = 'x-svc-timestamp'
export const NONCE = 'x-svc-nonce'

export type HeaderLines = Record<string, string | readonly string[]>

/** One request before it is signed. The signed values may differ from the sent ones. */
export interface Draft {
  readonly signer: Agent
  readonly method: string
  readonly target: string
  readonly body: string | Uint8Array | undefined
  readonly contentType: string
  readonly timestamp: number
  readonly nonce: string
  /** Values that are signed instead of the sent ones. */
  readonly signed: Partial<Record<'authority' | 'method' | 'target' | 'body' | 'timestamp' | 'nonce', string>>
  /** Changes the seven signed lines. */
  readonly lines: (lines: string) => string
  /** Changes the correct headers. */
  readonly edit: (headers: Record<string, string>) => HeaderLines
  /** Base address of a gateway other than the signer's. */
  readonly url: string
}

/** A correct request with these changes. By default it reads the signer's own identity. */
export function draft(signer: Agent, changes: Partial<Draft> = {}): Draft {
  return {
    signer,
    method: 'GET',
    target: '/v2/me',
    body: undefined,
    contentType: 'application/json',
    timestamp: unixSeconds(),
    nonce: freshNonce(),
    signed: {},
    lines: (lines) => lines,
    edit: (headers) => headers,
    url: signer.place.url,
    ...changes,
  }
}

function freshNonce(bytes = 16): string {
  return randomBytes(bytes).toString('hex')
}

export function unixSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

/** The headers of a request, with a `content-type` if it has a body. */
export function headersOf({ signer, signed, lines, edit, ...sent }: Draft): HeaderLines {
  const { body = '', ...parts } = sent
  const text = [
    'SVC1',
    signed.authority ?? signer.place.authority,
    signed.method ?? parts.method,
    signed.target ?? parts.target,
    signed.timestamp ?? parts.timestamp,
    signed.nonce ?? parts.nonce,
    createHash('sha256')
      .update(signed.body ?? body)
      .digest('hex'),
  ].join('\n')
  const signature = Buffer.from(signBytes(Buffer.from(lines(text)), signer.key.secretKey)).toString('base64')
  return edit({
    [AUTHORIZATION]: `SVC ${signer.id}:${signature}`,
    [TIMESTAMP]: String(parts.timestamp),
    [NONCE]: parts.nonce,
    ...(sent.body === undefined ? {} : { 'content-type': sent.contentType }),
  })
}

/** Signs a request and sends it on a new connection. */
export function send(request: Draft): Promise<HttpAnswer> {
  const { method, target, body, url } = request
  return exchange(url, { method, target, headers: headersOf(request), body })
}
