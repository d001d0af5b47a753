import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { type ConsoleFile, loadConsole } from '@svc/console/build/files.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
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

type Files = ReadonlyMap<string, ConsoleFile>

/** The web console, which is not part of the API. Its files are read, and built if necessary, on the first request for one. */
export function consoleRoutes(logger: Logger): Operation[] {
  const getFiles = singleFlight(logger)
  const page = ['/console', '/console/'].map((path) =>
    defineOperation({ ...OPEN, path }).serve(async ({ context }) => answer(await getFiles(context.deadlineMs), PAGE)),
  )
  const file = defineOperation({
    ...OPEN,
    path: '/console/{file}',
    params: {
      file: { schema: Type.String({ pattern: '^[\\w-]+\\.(?:css|js|svg)$' }), description: 'Name of the file' },
    },
  }).serve(async ({ params, context }) => answer(await getFiles(context.deadlineMs), params.file))
  return [...page, file]
}

/** Loads the files once. A failure is logged and not kept, so the next request tries again. */
function singleFlight(logger: Logger): (deadlineMs: number) => Promise<Files> {
  let loading: Promise<Files> | undefined
  let loaded: Files | undefined
  const load = async (): Promise<Files> => {
    try {
      loaded = await loadConsole()
      return loaded
    } catch (cause) {
      loading = undefined
      logger.error({ err: cause }, 'the console could not be built')
      throw new ServiceError('unavailable', { detail: 'the console could not be built', cause })
    }
  }
  return async (deadlineMs) => {
    if (loaded !== undefined) return loaded
    loading ??= load()
    return Promise.race([loading, tooLate(deadlineMs)])
  }
}

async function tooLate(deadlineMs: number): Promise<never> {
  await sleep(Math.max(0, deadlineMs - Date.now()), undefined, { ref: false })
  throw new ServiceError('unavailable', { detail: 'the console is being built; reload the page in a few seconds' })
}

function answer(files: Files, name: string): DocumentAnswer {
  const file = files.get(name)
  if (file === undefined) throw new ServiceError('not_found')
  const { type, plain, gzip, brotli, etag } = file
  return {
    status: 200,
    document: { plain, gzip, brotli },
    headers: {
      ...HEADERS,
      'content-type': `${type}; charset=utf-8`,
      etag,
      'cache-control': name === PAGE ? REVALIDATE : FOR_EVER,
    },
  }
}
