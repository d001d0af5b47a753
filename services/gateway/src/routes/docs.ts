import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Type } from '@sinclair/typebox'
import { LLMS } from '../api/llms.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { textAnswer } from '../http/answer.ts'
import { createDocument } from '../http/document.ts'

const { resolve } = createRequire(import.meta.url)

/**
 * What describes the API to people and models. None of it is part of the API (spec 1.5). The reference page at `/docs` is a viewer of
 * `/openapi.json`. This process serves all of it, from its own files and the viewer's package, so that no other host learns who reads
 * it.
 */
export function docsRoutes(): Operation[] {
  const files = FILES.map(({ url, ...file }) => ({ ...file, text: readFileSync(url, 'utf8') }))
  const forModels = { path: '/llms.txt', type: 'text/plain', headers: {}, text: LLMS }
  const documents = [...files, forModels].map(({ path, ...file }) => {
    const document = createDocument(file)
    return defineOperation({
      id: 'getDocs',
      method: 'GET',
      path,
      tag: 'Service',
      summary: 'Description for people and models',
      auth: 'optional',
      responses: { 200: { description: 'A file of the description', schema: Type.Unknown(), example: '' } },
    }).serve(() => document.answer())
  })
  return [...documents, WITHOUT_SLASH]
}

/** People type `/docs/` too. */
const WITHOUT_SLASH = defineOperation({
  id: 'getDocs',
  method: 'GET',
  path: '/docs/',
  tag: 'Service',
  summary: 'Redirect to the reference page',
  auth: 'optional',
  responses: { 308: { description: 'The page is at /docs' } },
}).handle(async () => textAnswer(308, '', { location: '/docs', 'content-type': 'text/plain; charset=utf-8' }))

/** The page may load, run and call only what is listed here, and no site may put it into a frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

const FILES = [
  own('/docs', 'reference.html', 'text/html', PAGE_HEADERS),
  own('/docs/reference.css', 'reference.css', 'text/css'),
  own('/docs/reference.js', 'reference.js', 'text/javascript'),
  viewers('/docs/swagger-ui.css', 'swagger-ui.css', 'text/css'),
  viewers('/docs/swagger-ui-bundle.js', 'swagger-ui-bundle.js', 'text/javascript'),
]

interface DocsFile {
  readonly path: string
  readonly type: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

function own(path: string, name: string, type: string, headers: DocsFile['headers'] = {}): DocsFile {
  return { path, type, url: new URL(`../api/reference/${name}`, import.meta.url), headers }
}

function viewers(path: string, name: string, type: string): DocsFile {
  return { path, type, url: pathToFileURL(resolve(`swagger-ui-dist/${name}`)), headers: {} }
}
