import type { Answer } from '../http/exchange.ts'

/** `202`, or `409 id_conflict`. */
export function outcomeOf({ status, body }: Answer): string {
  const code: unknown = body?.error?.code
  return typeof code === 'string' ? `${status} ${code}` : `${status}`
}
