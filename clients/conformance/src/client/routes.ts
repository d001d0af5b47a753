/** Routes that a client may use here, with `{}` for one segment. */
const PATTERNS: readonly [string, RegExp][] = [
  ['/v2/agents/{name}', /^\/v2\/agents\/([^/]+)$/],
  ['/v2/messages/{id}/ack', /^\/v2\/messages\/([^/]+)\/ack$/],
  ['/v2/messages/{id}', /^\/v2\/messages\/([^/]+)$/],
  ['/v2/contacts/{agent}', /^\/v2\/contacts\/([^/]+)$/],
]

/** Operations that must be signed (spec 12.1). */
export const SIGNED: ReadonlySet<string> = new Set([
  'POST /v2/agents/register',
  'GET /v2/me',
  'GET /v2/contacts',
  'PUT /v2/contacts/{agent}',
  'POST /v2/messages',
  'POST /v2/messages/{id}/ack',
  'GET /v2/inbox',
  'GET /v2/events',
  'GET /v2/stream',
  'POST /v2/boards',
])

/** The route as the table of spec 12.1 writes it, and what stands for its variable part. */
export function routeOf(method: string, target: string): { route: string; id: string } {
  const path = target.split('?')[0] ?? ''
  if (path === '/v2/agents/register') return { route: `${method} ${path}`, id: '' }
  for (const [pattern, form] of PATTERNS) {
    const id = form.exec(path)?.[1]
    if (id !== undefined) return { route: `${method} ${pattern}`, id: decodeURIComponent(id) }
  }
  return { route: `${method} ${path}`, id: '' }
}
