import { Type } from '@sinclair/typebox'
import { Manifest } from '@svc/contracts/manifest.ts'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { createDocument } from '../http/document.ts'
import { ifNoneMatch } from '../http/query.ts'

const ETAG = { type: 'string', pattern: '^W/"[A-Za-z0-9_-]+"$', maxLength: 32 }

/** As `createDocument` sends them. */
const DOCUMENT_HEADERS = {
  'Cache-Control': {
    schema: Type.Literal('no-cache'),
    description: 'Caches may store the manifest, and must revalidate it each time',
    example: 'no-cache',
  },
  ETag: {
    schema: Type.Unsafe(ETAG),
    description: 'Names this version of the manifest',
    example: 'W/"IlzZ2aPnHwO4fyTrPvuVag"',
  },
  'X-Content-Type-Options': {
    schema: Type.Literal('nosniff'),
    description: 'Browsers must not guess another type',
    example: 'nosniff',
  },
} as const

export interface ManifestDeps {
  readonly manifest: Manifest
}

/** The discovery manifest, which every client reads before its first signature (spec 5.1). */
export function manifestRoute({ manifest }: ManifestDeps): Operation {
  const document = jsonDocument(manifest)
  return defineOperation({
    id: 'getManifest',
    method: 'GET',
    path: '/.well-known/agent.json',
    tag: 'Service',
    summary: 'Discovery manifest',
    description:
      'A client needs its `authority` before it can sign. The limits are those that hold, as the operator set them.',
    auth: 'optional',
    headers: { 'if-none-match': ifNoneMatch },
    responses: {
      200: { description: 'The manifest', schema: Manifest, example: EXAMPLES.manifest, headers: DOCUMENT_HEADERS },
      304: { description: 'The client has this manifest already', headers: DOCUMENT_HEADERS },
    },
  }).serve(() => document.answer())
}

/** The OpenAPI description, which does not describe itself (spec 1.4). */
export function openApiRoute(openapi: unknown): Operation {
  const document = jsonDocument(openapi)
  return defineOperation({
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'Service',
    summary: 'OpenAPI description',
    auth: 'optional',
    responses: { 200: { description: 'The description', schema: Type.Unknown(), example: {} } },
  }).serve(() => document.answer())
}

function jsonDocument(value: unknown): ReturnType<typeof createDocument> {
  return createDocument({ text: JSON.stringify(value), type: 'application/json' })
}
