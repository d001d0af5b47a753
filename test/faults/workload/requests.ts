import type { Agent } from '../../support/client/agent.ts'
import type { Body, Call, Seen } from '../history/calls.ts'
import { fingerprint } from '../history/fingerprint.ts'

/** Method, target and JSON body of a call. A send and a registration bring their own body text. */
export function requestOf(agent: Agent, call: Call): { method: string; target: string; body?: unknown } {
  switch (call.kind) {
    case 'register':
      return { method: 'POST', target: '/v2/agents/register' }
    case 'me':
      return { method: 'GET', target: '/v2/me' }
    case 'patch': {
      const settings = { inbox_policy: call.policy, discoverable: call.discoverable }
      return { method: 'PATCH', target: '/v2/me', body: settings }
    }
    case 'revoke':
      return { method: 'POST', target: '/v2/me/revoke', body: { confirm_agent_id: agent.id } }
    case 'agent':
      return { method: 'GET', target: `/v2/agents/${call.name}` }
    case 'agents':
      return { method: 'GET', target: '/v2/agents?limit=100' }
    case 'budget':
      return { method: 'GET', target: '/v2/budget' }
    case 'contacts':
      return { method: 'GET', target: '/v2/contacts?limit=100' }
    case 'contact':
      return { method: 'PUT', target: `/v2/contacts/${call.other}`, body: { state: call.state } }
    case 'send':
      return { method: 'POST', target: '/v2/messages' }
    case 'message':
      return { method: 'GET', target: `/v2/messages/${call.id}` }
    case 'ack':
      return { method: 'POST', target: `/v2/messages/${call.id}/ack` }
    case 'receipt':
      return { method: 'GET', target: `/v2/messages/${call.id}/receipts` }
    case 'vote':
      return { method: call.voted ? 'PUT' : 'DELETE', target: `/v2/messages/${call.id}/vote` }
    case 'inbox':
      return {
        method: 'GET',
        target: `/v2/inbox?lane=${call.lane}&limit=${call.limit}${call.unacked ? '&unacked=true' : ''}${afterOf(call.after)}`,
      }
    case 'thread':
      return { method: 'GET', target: `/v2/inbox?limit=100&thread_id=${call.id}` }
    case 'health':
      return { method: 'GET', target: '/v2/health' }
    case 'export':
      return { method: 'GET', target: `/v2/export?limit=${call.limit}${afterOf(call.after)}` }
    case 'events':
      return { method: 'GET', target: `/v2/events?limit=${call.limit}&after=${call.after}` }
    case 'create-board': {
      const { title, visibility, posting } = call
      return { method: 'POST', target: '/v2/boards', body: { title, visibility, posting } }
    }
    case 'boards':
      return { method: 'GET', target: '/v2/boards?limit=100' }
    case 'board':
      return { method: 'GET', target: `/v2/boards/${call.board}` }
    case 'members':
      return { method: 'GET', target: `/v2/boards/${call.board}/members` }
    case 'role':
      return { method: 'PUT', target: `/v2/boards/${call.board}/members/${call.agent}`, body: { role: call.role } }
    case 'feed':
      return { method: 'GET', target: `/v2/boards/${call.board}/messages?limit=${call.limit}${afterOf(call.after)}` }
    case 'hide':
      return {
        method: 'PUT',
        target: `/v2/boards/${call.board}/messages/${call.id}/visibility`,
        body: { hidden: call.hidden },
      }
    case 'set-webhook':
      return { method: 'PUT', target: '/v2/webhook', body: { url: call.url, secret: call.secret } }
    case 'webhook':
      return { method: 'GET', target: '/v2/webhook' }
    case 'delete-webhook':
      return { method: 'DELETE', target: '/v2/webhook' }
  }
}

function afterOf(cursor: string): string {
  return cursor === '' ? '' : `&after=${encodeURIComponent(cursor)}`
}

// biome-ignore lint/suspicious/noExplicitAny: JSON that was validated against the OpenAPI description.
type Json = any

/** The part of an answer that the checker gets. */
export function bodyOf(call: Call, status: number, json: Json): Body {
  if (status >= 400) return { code: json?.error?.code }
  switch (call.kind) {
    case 'send':
      return { lane: json.lane, duplicate: json.duplicate, id: json.msg_id }
    case 'message':
      return { messages: [seenOf(json)] }
    case 'inbox':
    case 'thread':
    case 'export':
    case 'feed':
      return { messages: json.messages.map(seenOf), nextCursor: json.next_cursor }
    case 'events':
      return {
        messages: json.events.map((event: Json) => ({
          ...seenOf(event.message),
          cursor: event.cursor,
          lane: event.kind,
        })),
        nextCursor: json.next_cursor,
      }
    case 'me':
    case 'patch':
      return { policy: json.inbox_policy, discoverable: json.discoverable }
    case 'budget':
      return {
        budget: { used: json.used_units, introductions: json.used_introductions, credits: json.credit_balance },
      }
    case 'contacts':
      return { contacts: Object.fromEntries(json.contacts.map((one: Json) => [one.agent_id, one.state])) }
    case 'members':
      return { members: Object.fromEntries(json.members.map((one: Json) => [one.agent_id, one.role])) }
    case 'boards':
      return {
        boards: json.boards.map(({ id, owner }: Json) => ({ id, owner })),
        nextCursor: json.next_cursor,
      }
    case 'agent':
      return { agent: { id: json.agent_id, revoked: json.revoked } }
    case 'receipt':
      return { status: json.status }
    case 'create-board':
    case 'board':
      return { id: json.id }
    case 'webhook':
    case 'set-webhook':
      return { webhook: { url: json.url, pending: json.pending, failed: json.failed } }
    default:
      return {}
  }
}

function seenOf({ envelope, lane, acked, upvotes, expires_at }: Json): Seen {
  return { id: envelope.id, digest: fingerprint(envelope), lane, acked, upvotes, expiresAt: expires_at }
}
