import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { DocumentAnswer } from './answer.ts'

interface DocumentOptions {
  readonly text: string
  /** Media type, without its charset, which is UTF-8. */
  readonly type: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A document that does not change while the process runs. Browsers cache it and revalidate it by its ETag. */
interface Document {
  answer(): Promise<DocumentAnswer>
}

const compress = promisify(gzip)

export function createDocument({ text, type, headers = {} }: DocumentOptions): Document {
  const all = {
    ...headers,
    'content-type': `${type}; charset=utf-8`,
    // A weak ETag, because it is the same for the plain and the compressed text.
    etag: `W/"${hash('sha256', text, 'base64url').slice(0, 22)}"`,
    // Always revalidate: the next request may reach another gateway, which may run an older release.
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
  }
  const plain = Buffer.from(text)
  let compressed: Promise<Buffer> | undefined
  return {
    async answer() {
      compressed ??= compress(plain)
      return { status: 200, document: { plain, gzip: await compressed }, headers: all }
    },
  }
}

/** Whether a client that sent this `If-None-Match` has the document already (RFC 9110, 13.1.2; compared weakly). */
export function isKnown(etag: string | undefined, ifNoneMatch: string | undefined): boolean {
  if (etag === undefined || ifNoneMatch === undefined) return false
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '')
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag))
}

/** Whether an `Accept-Encoding` allows a coding (RFC 9110, 12.5.3): named, or covered by `*`, and not with a weight of 0. */
export function acceptsCoding(acceptEncoding: string | undefined, coding: 'br' | 'gzip'): boolean {
  const weights = new Map(
    (acceptEncoding ?? '').split(',').map((entry) => {
      const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
      return [name, Number(weight ?? 1)] as const
    }),
  )
  return (weights.get(coding) ?? weights.get('*') ?? 0) > 0
}
