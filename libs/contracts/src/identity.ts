/** The calls of the identity service. */
import { type Static, Type } from '@sinclair/typebox'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { decodePublicKeyText } from '@svc/svc1/public-key.ts'
import { defineCall } from './define.ts'
import { AgentId } from './ids.ts'
import {
  Agent,
  AgentList,
  Challenge,
  closed,
  Identity,
  Registration,
  RegistrationResult,
  Settings,
} from './resources.ts'
import { Suspension } from './suspension.ts'

/**
 * Issues a challenge for a key. Writes nothing (spec 5.4). Codes: `invalid_pubkey`. `key_checked`: the caller has already
 * checked that the key is of prime order (spec 2.2), so identity does not repeat the check.
 */
export const issueChallenge = defineCall({
  subject: 'svc.identity.issue-challenge',
  request: closed({ pubkey: Type.String(), key_checked: Type.Optional(Type.Boolean()) }),
  reply: Challenge,
})

/** Registers a key under a name (spec 5.6). The caller has checked `pubkey` and has verified the signature with it. */
export const registerAgent = defineCall({
  subject: 'svc.identity.register-agent',
  request: Registration,
  reply: RegistrationResult,
  isAnswerTo: ({ pubkey }, { agent_id }) => isIdOf(agent_id, pubkey),
})

export const FoundAgent = closed({ agent: Type.Union([Agent, Type.Null()]) })
export type FoundAgent = Static<typeof FoundAgent>

/** Whether an agent id is the hash of a key (spec 2.3). An answer with any other key would let its sender act as the agent. */
function isIdOf(agentId: string, pubkey: string): boolean {
  const bytes = decodePublicKeyText(pubkey)
  return bytes !== undefined && agentIdOf(bytes) === agentId
}

function isAgentWithId(agent: Agent, agentId: string): boolean {
  return agent.agent_id === agentId && isIdOf(agentId, agent.pubkey)
}

/** Finds the agent with this id, even if it is revoked; null if there is none. */
export const findAgent = defineCall({
  subject: 'svc.identity.find-agent',
  request: closed({ agent_id: AgentId }),
  reply: FoundAgent,
  isAnswerTo: ({ agent_id }, { agent }) => agent === null || isAgentWithId(agent, agent_id),
})

/** Finds the agent with exactly this name, even if it is revoked; null if there is none. Names are never reassigned. */
export const findAgentByName = defineCall({
  subject: 'svc.identity.find-agent-by-name',
  request: closed({ name: Type.String() }),
  reply: FoundAgent,
  isAnswerTo: ({ name }, { agent }) => agent === null || (agent.name === name && isIdOf(agent.agent_id, agent.pubkey)),
})

/**
 * Durably consumes the nonce of a request with a verified signature, and tells whether the signer is revoked (spec 3.5,
 * 3.7), and whether an operator has suspended it (spec 12.4). `nonce` is lower-case hex. A repeat is `replayed` for at least
 * ten minutes.
 */
export const admitRequest = defineCall({
  subject: 'svc.identity.admit-request',
  request: closed({ agent_id: AgentId, nonce: Type.String({ pattern: '^([0-9a-f]{2}){16,64}$' }) }),
  reply: closed({
    replayed: Type.Boolean(),
    revoked: Type.Boolean(),
    /** Absent: not suspended. */
    suspended: Type.Optional(Suspension),
    /** The signer was erased (spec 12.4), and the caller still has its key. */
    erased: Type.Optional(Type.Literal(true)),
  }),
})

/** Lists discoverable, active agents in byte order of the name (spec 5.9, 7.9). `after` need not exist. */
export const listAgents = defineCall({
  subject: 'svc.identity.list-agents',
  request: closed({ after: Type.String(), limit: Type.Integer({ minimum: 1, maximum: 100 }) }),
  reply: AgentList,
})

/** The caller's own identity. Codes: `not_found`. */
export const getIdentity = defineCall({
  subject: 'svc.identity.get-identity',
  request: closed({ agent_id: AgentId }),
  reply: Identity,
  isAnswerTo: ({ agent_id }, { agent }) => isAgentWithId(agent, agent_id),
})

/** Changes settings (spec 5.10, 11.2). Costs 1 unit, unless the only change is that the inbox is closed. Codes: budget's. */
export const updateSettings = defineCall({
  subject: 'svc.identity.update-settings',
  request: closed({ agent_id: AgentId, settings: Settings }),
  reply: Identity,
  isAnswerTo: ({ agent_id }, { agent }) => isAgentWithId(agent, agent_id),
})

/** Revokes an agent for ever. Free, and possible while budget is down (spec 5.11, 11.2). */
export const revokeAgent = defineCall({
  subject: 'svc.identity.revoke-agent',
  request: closed({ agent_id: AgentId }),
  reply: closed({ status: Type.Literal('revoked') }),
})
