/** Calls between two messages. They use every service, and every call between services. */
import type { Agent } from '../../support/client/agent.ts'
import type { Outgoing } from './keep-alive-client.ts'

interface Turn {
  readonly sender: Agent
  /** Another sender. */
  readonly other: Agent
  readonly reader: Agent
  /** The reader has a webhook. */
  readonly hooked: boolean
  /** A board of the first sender, open to all. */
  readonly board: string
  readonly owner: Agent
  /** The last accepted message of the sender, to the reader or on the board. */
  readonly message: string
  readonly count: number
}

interface ExpectedCall {
  readonly agent: Agent
  readonly outgoing: Outgoing
  readonly status: number
}

const get = (agent: Agent, target: string, status = 200): ExpectedCall => ({
  agent,
  outgoing: { method: 'GET', target },
  status,
})

const change = (agent: Agent, method: string, target: string, body?: unknown): ExpectedCall => ({
  agent,
  outgoing: { method, target, body },
  status: 200,
})

const AFTER_MESSAGE: readonly ((turn: Turn) => ExpectedCall)[] = [
  ({ reader }) => get(reader, '/v2/events?limit=5'),
  ({ reader, message }) => change(reader, 'POST', `/v2/messages/${message}/ack`),
  ({ reader }) => get(reader, '/v2/budget'),
  ({ sender, message }) => get(sender, `/v2/messages/${message}/receipts`),
  ({ reader, hooked }) => get(reader, '/v2/webhook', hooked ? 200 : 404),
  // Identity charges this change and pushes it to messaging.
  ({ sender, count }) => change(sender, 'PATCH', '/v2/me', { inbox_policy: count % 2 === 0 ? 'contacts' : 'requests' }),
  ({ reader }) => get(reader, '/v2/inbox?limit=5'),
  ({ sender, other, count }) =>
    change(sender, 'PUT', `/v2/contacts/${other.id}`, { state: count % 2 === 0 ? 'accepted' : 'none' }),
  ({ sender }) => get(sender, '/v2/contacts?limit=5'),
  ({ reader, message }) => get(reader, `/v2/messages/${message}`),
  ({ sender, reader }) => get(sender, `/v2/agents/${reader.name}`),
  ({ reader }) => get(reader, '/v2/export?limit=5'),
]

const AFTER_POST: readonly ((turn: Turn) => ExpectedCall)[] = [
  ({ reader, board }) => get(reader, `/v2/boards/${board}`),
  ({ reader, message }) => change(reader, 'PUT', `/v2/messages/${message}/vote`),
  ({ reader, board }) => get(reader, `/v2/boards/${board}/messages?limit=5`),
  ({ reader, message }) => change(reader, 'DELETE', `/v2/messages/${message}/vote`),
  ({ owner, board }) => get(owner, `/v2/boards/${board}/members`),
]

/**
 * Makes one of these calls in turn.
 * @param turns the number of earlier calls.
 */
export function callAfter(isPost: boolean, turns: number, turn: Turn): ExpectedCall {
  const calls = isPost ? AFTER_POST : AFTER_MESSAGE
  const call = calls[turns % calls.length]
  if (call === undefined) throw new RangeError('there are calls')
  return call(turn)
}
