import type { Entry } from '../../history/history.ts'
import type { Violation } from '../violation.ts'

/** Of all requests with the same nonce, at most one may get past the nonce check. Source: spec 3.7. */
export function checkNonces(entries: readonly Entry[]): Violation[] {
  const replays = entries.filter((entry) => entry.type === 'replay')
  return [...Map.groupBy(replays, ({ nonce }) => nonce)].flatMap(([nonce, all]) => {
    // A 503 leaves open whether the nonce was consumed. A revoked signer is refused before the nonce check (spec 3.5).
    const accepted = all.filter(
      ({ status, code }) => status !== null && status !== 503 && code !== 'nonce_replayed' && code !== 'signer_revoked',
    )
    if (accepted.length <= 1) return []
    const times = accepted.map(({ atMs, endMs, status }) => `${status} from ${atMs} to ${endMs}`)
    return [{ rule: 'no nonce is accepted twice', text: `${nonce}: ${times.join('; ')}` }]
  })
}
