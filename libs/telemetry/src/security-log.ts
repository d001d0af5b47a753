import type { Logger } from './logger.ts'
import { defineCount } from './metrics.ts'

/** What happened to an agent. `signatures_refused`: many false signatures under the id of one agent. */
type SecurityEvent = 'registration' | 'revocation' | 'signatures_refused' | 'webhook_changed' | 'webhook_deleted'

/** Ids and numbers. Never names, addresses, URLs or bodies. */
interface Facts {
  readonly request_id?: string
  readonly count?: number
  readonly window_seconds?: number
}

/** Records events that help to trace an incident. Call it once the event is durable. */
export interface SecurityLog<Event extends SecurityEvent> {
  note(event: Event, agentId: string, facts: Facts): void
}

interface SecurityLogOptions<Event extends SecurityEvent> {
  readonly logger: Logger
  /** `SVC_SECURITY_LOG`. If it is off, events are only counted. */
  readonly isOn: boolean
  /** The events that this process records. */
  readonly events: readonly Event[]
}

const counted = defineCount({
  name: 'agentmsg_security_events_total',
  help: 'Security events of agents: registration, revocation, signatures_refused (many for one agent within a minute), webhook_changed, webhook_deleted',
  labels: ['event'],
})

/**
 * Counts every event, and logs it as one line if the operator wants that. These lines are the only ones with the ids of agents
 * (docs/operating/secure.md). They are written at any log level.
 */
export function createSecurityLog<const Event extends SecurityEvent>({
  logger,
  isOn,
  events,
}: SecurityLogOptions<Event>): SecurityLog<Event> {
  const lines = logger.child({}, { level: 'info' })
  counted.startAt0({ event: events })
  return {
    note(event, agentId, facts) {
      counted.add({ event })
      if (isOn) lines.info({ security_event: event, agent_id: agentId, ...facts }, 'security event')
    },
  }
}
