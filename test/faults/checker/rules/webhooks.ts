/**
 * Checks that webhooks are delivered at least once and signed, to the configuration at the time of the event, and never to
 * a later or deleted configuration. Source: spec 10.1, 10.7.
 */
import { ofKind } from '../../history/attempts.ts'
import type { Entry } from '../../history/history.ts'
import { LATE_MS } from '../../model/register.ts'
import type { Final } from '../final.ts'
import type { Violation } from '../violation.ts'
import type { World } from '../world.ts'

/** A request in flight cannot be recalled. It takes up to 3 s, plus the time for which its process may be paused. */
const IN_FLIGHT_MS = 20_000

export function checkWebhooks(world: World, entries: readonly Entry[], final: Final): Violation[] {
  const violations: Violation[] = []
  const say = (rule: string, text: string): void => void violations.push({ rule, text })
  const stored = new Map(final.messages.map((message) => [message.id, message]))
  // each attempt to set a configuration has its own path, and may have taken effect
  const tries = Map.groupBy(ofKind(world.attempts, 'set-webhook'), ({ call }) => new URL(call.url).pathname)
  const deliveries = entries.filter((entry) => entry.type === 'delivery')

  for (const { path, id, signed, digest, atMs } of deliveries) {
    const configs = tries.get(path) ?? []
    const config = configs.at(-1)
    const sent = world.sends.get(id)?.attempts.find(({ call }) => call.sent.digest === digest)?.call.sent
    const row = stored.get(id)
    if (!signed) say('webhooks: signed with the secret', `${id} to ${path}`)
    if (config === undefined || sent === undefined || sent.to !== config.actor) {
      say('webhooks: to the right agent', `${id} to ${path}`)
      continue
    }
    if (row === undefined) say('webhooks: only what was accepted', `${id} to ${path}`)
    else if (!row.purged && row.lane !== 'inbox') say('webhooks: inbox alone', `${id}, lane ${row.lane}, to ${path}`)
    const accepted = world.sends.get(id)?.attempts.find(({ status }) => status === 202)
    // a message request is delivered after its promotion; its row shows the promotion until the message is purged
    if (
      accepted !== undefined &&
      accepted.body.lane === 'inbox' &&
      accepted.endMs < Math.min(...configs.map(({ startMs }) => startMs))
    ) {
      say('webhooks: nothing from before', `${id} was accepted before ${path} was configured`)
    }
    const lateMs = Math.max(config.endMs, ...configs.map((one) => (one.unknown ? one.startMs + LATE_MS : one.endMs)))
    const after = nextChange(config.actor, lateMs)
    if (after !== undefined && atMs > after + IN_FLIGHT_MS)
      say('webhooks: nothing after a change', `${id} to ${path} at ${atMs}`)
  }
  for (const agent of final.agents) checkComplete(agent)
  return violations

  /** When the next change was answered. */
  function nextChange(actor: string, fromMs: number): number | undefined {
    const changes = world.attempts.filter(
      ({ call, status, startMs, actor: by }) =>
        by === actor &&
        status === 200 &&
        startMs > fromMs &&
        (call.kind === 'set-webhook' || call.kind === 'delete-webhook' || call.kind === 'revoke'),
    )
    return changes.length === 0 ? undefined : Math.min(...changes.map(({ endMs }) => endMs))
  }

  /** Checks that every inbox message since the final configuration was delivered. */
  function checkComplete({ id: agent, name, webhook }: Final['agents'][number]): void {
    if (webhook === undefined) return
    const path = new URL(webhook.url).pathname
    const config = tries.get(path)?.at(-1)
    if (config === undefined || config.status !== 200) return
    // an unanswered change, of this path or another, may still cancel pending deliveries
    const unheard = ofKind(world.attempts, 'set-webhook').filter(({ actor, unknown }) => actor === agent && unknown)
    const fromMs = Math.max(config.endMs, ...unheard.map(({ startMs }) => startMs + LATE_MS))
    const arrived = new Set(deliveries.filter((one) => one.path === path && one.answered === 204).map(({ id }) => id))
    const missing = [...world.sends.values()].filter(({ id, accepted, attempts }) => {
      const row = stored.get(id)
      if (accepted === undefined || accepted.isPost || accepted.to !== agent || accepted.ttl > 0) return false
      if (row === undefined || row.purged || row.lane !== 'inbox') return false
      return attempts.every(({ startMs }) => startMs > fromMs) && !arrived.has(id)
    })
    if (missing.length > webhook.failed) {
      say(
        'webhooks: at least once',
        `${name} never got ${missing.map(({ id }) => id).join(', ')}; given up: ${webhook.failed}`,
      )
    }
  }
}
