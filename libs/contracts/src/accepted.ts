/**
 * What the outbox publishes: one JetStream message for each log entry. Source: design.md, Outbox.
 * Subject `accepted.<agent_id>.<kind>`; `Nats-Msg-Id` `<agent_id>:<cursor>`; payload: an Event of the public API in JSON.
 */
import type { Lane } from './resources.ts'

export const ACCEPTED_STREAM = 'ACCEPTED'
export const ACCEPTED_SUBJECTS = 'accepted.>'

export function acceptedSubject(agentId: string, kind: Lane): string {
  return `accepted.${agentId}.${kind}`
}

export function acceptedMessageId(agentId: string, cursor: number | bigint): string {
  return `${agentId}:${cursor}`
}
