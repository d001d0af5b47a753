import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { Type } from '@sinclair/typebox'
import { ServiceError } from '@svc/contracts/errors.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import type { DocumentAnswer } from '../http/answer.ts'

/**
 * The page may load, run and call only what is listed here. Only the Trusted Types policy `svc-worker` may give a
 * worker its address.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svc-worker',
].join('; ')

/** Features of the browser that the console never uses, so injected code must not use them either. */
const UNUSED_FEATURES = [
  'camera',
  'display-capture',
  'geolocation',
  'hid',
  'microphone',
  'midi',
  'payment',
  'publickey-credentials-get',
  'serial',
  'usb',
]

/** A worker is bound by the headers of its own file, so every file has them. */
const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': UNUSED_FEATURES.map((name) => `${name}=()`).join(', '),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** A file's name has the hash of its content. The page's address has no hash, so browsers always revalidate the page. */
const FOR_EVER = 'public, max-age=31536000, immutable'
const REVALIDATE = 'no-cache'
const PAGE = 'index.html'

const OPEN = {
  id: 'getConsole',
  method: 'GET',
  tag: 'Service',
  summary: 'Web console',
  auth: 'optional',
  responses: { 200: { description: 'A file of the console', schema: Type.Unknown(), example: '' } },
} as const

/** By extension. Other files of the build are compressed copies. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['.css', 'text/css'],
  ['.html', 'text/html'],
  ['.js', 'text/javascript'],
  ['.svg', 'image/svg+xml'],
])

/** The web console, which is not part of the API. @param folder has its built files, which are read on the first request for one. */
export function consoleRoutes(folder: URL): Operation[] {
  let files: ReadonlyMap<string, DocumentAnswer> | undefined
  const answer = (name: string): DocumentAnswer => {
    files ??= readFiles(folder)
    const found = files.get(name)
    if (found === undefined) throw new ServiceError('not_found')
    return found
  }
  const page = ['/console', '/console/'].map((path) =>
    defineOperation({ ...OPEN, path }).serve(async () => answer(PAGE)),
  )
  const file = defineOperation({
    ...OPEN,
    path: '/console/{file}',
    params: {
      file: { schema: Type.String({ pattern: '^[\\w-]+\\.(?:css|js|svg)$' }), description: 'Name of the file' },
    },
  }).serve(async ({ params }) => answer(params.file))
  return [...page, file]
}

function readFiles(folder: URL): Map<string, DocumentAnswer> {
  const read = (name: string): Buffer => readFileSync(new URL(name, folder))
  const files = readdirSync(folder).flatMap((name): [string, DocumentAnswer][] => {
    const type = TYPES.get(extname(name))
    if (type === undefined) return []
    const plain = read(name)
    const headers = {
      ...HEADERS,
      'content-type': `${type}; charset=utf-8`,
      // Weak, because it is the same for the plain and the compressed bytes.
      etag: `W/"${hash('sha256', plain, 'base64url').slice(0, 22)}"`,
      'cache-control': name === PAGE ? REVALIDATE : FOR_EVER,
    }
    return [[name, { status: 200, document: { plain, gzip: read(`${name}.gz`), brotli: read(`${name}.br`) }, headers }]]
  })
  return new Map(files)
}
