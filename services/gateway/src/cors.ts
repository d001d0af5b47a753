import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** Which browsers may call the API (spec 3.18). No cookies are involved, so no credentials are allowed. */
export interface Cors {
  /** Whether a browser asks by this request if it may send another one. */
  isPreflight(request: IncomingMessage): boolean
  /** What the answer to any request says to its browser. */
  headersFor(headers: IncomingHttpHeaders): Readonly<Record<string, string>>
}

/** What the answer to a preflight says besides. Browsers keep it for two hours at most. */
export const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'authorization, content-type, last-event-id, x-svc-nonce, x-svc-timestamp',
  'access-control-max-age': '7200',
} as const

/** What a client acts on besides the body; `Date` is how it corrects its clock (spec 3.14, 3.18). */
const EXPOSED_HEADERS = 'date, retry-after, x-request-id, x-svc-earliest-cursor, x-svc-latest-cursor'
const NONE = {}

/**
 * Where the origin is none of these, nothing changes: OPTIONS is 404, and the browser keeps the answer from the page.
 * @param origins `*` is any.
 */
export function createCors(origins: readonly string[]): Cors {
  const allowed = new Set(origins)
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && (allowed.has(origin) || allowed.has('*'))
  if (origins.length === 0) return { isPreflight: () => false, headersFor: () => NONE }
  return {
    isPreflight: ({ method, headers }) =>
      method === 'OPTIONS' && headers['access-control-request-method'] !== undefined && isAllowed(headers.origin),
    headersFor: ({ origin }) =>
      isAllowed(origin)
        ? {
            'access-control-allow-origin': origin,
            'access-control-expose-headers': EXPOSED_HEADERS,
            vary: 'origin',
          }
        : { vary: 'origin' },
  }
}
