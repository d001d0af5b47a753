import { Type } from '@sinclair/typebox'
import { defineOperation, type Operation } from '../api/operation.ts'
import { createDocument } from '../http/document.ts'

/** The two documents that describe the service. The OpenAPI description does not list them (spec 1.4). */
export function discoveryRoutes({ manifest, openapi }: { manifest: unknown; openapi: unknown }): Operation[] {
  return [
    documentRoute({
      id: 'getManifest',
      path: '/.well-known/agent.json',
      summary: 'Discovery manifest',
      document: manifest,
    }),
    documentRoute({ id: 'getOpenApi', path: '/openapi.json', summary: 'OpenAPI description', document: openapi }),
  ]
}

interface DocumentRoute {
  readonly id: string
  readonly path: string
  readonly summary: string
  readonly document: unknown
}

function documentRoute({ id, path, summary, document: value }: DocumentRoute): Operation {
  const document = createDocument({ text: JSON.stringify(value), type: 'application/json' })
  return defineOperation({
    id,
    method: 'GET',
    path,
    tag: 'Service',
    summary,
    auth: 'optional',
    responses: { 200: { description: summary, schema: Type.Unknown(), example: value } },
  }).serve(() => document.answer())
}
