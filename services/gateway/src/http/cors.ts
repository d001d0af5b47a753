import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** Which browsers may call the API (spec 3.18). No cookies are involved, so no credentials are allowed. */
export interface Cors {
  /** Whether this is a CORS preflight, by which a browser asks whether it may send another request. */
  isPreflight(request: IncomingMessage): boolean
  /** The CORS headers of the answer to any request. */
  headersFor(headers: IncomingHttpHeaders): Readonly<Record<string, string>>
}

/** Additional headers of the answer to a preflight. Browsers cache it for at most two hours. */
export const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'authorization, content-type, last-event-id, x-svc-nonce, x-svc-timestamp',
  'access-control-max-age': '7200',
} as const

/** Headers of answers that clients read. A client corrects its clock by `Date` (spec 3.14, 3.18). */
const EXPOSED_HEADERS = 'date, retry-after, x-request-id, x-svc-earliest-cursor, x-svc-latest-cursor'
const NONE = {}

/**
 * An origin that is not listed gets no CORS headers: OPTIONS is 404, and the browser hides the answer from the page.
 * @param origins `*` allows any origin.
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
