import { Type } from '@sinclair/typebox'
import { InboxPolicy } from '@svc/contracts/resources.ts'
import { AnswerError } from '@svc/sdk/errors.ts'
import { Address, AgentId, AgentName, described, PublicKey, wordLike } from '../../schemas.ts'
import { defineTool } from '../tool.ts'

/** Shows the identity of this agent, and what this server lets it do. */
export const whoami = defineTool({
  name: 'whoami',
  title: 'Who am I',
  description: 'Shows your name, address and public key, who may write to you, and what this server lets you do.',
  reach: 'read',
  input: {},
  output: {
    name: AgentName,
    address: Address,
    agent_id: AgentId,
    public_key: PublicKey,
    inbox_policy: described(InboxPolicy, 'What happens to messages of agents that you have not accepted'),
    discoverable: Type.Boolean(),
    modes: Type.Array(Type.String()),
    max_units_per_call: Type.Integer({ description: 'If a call may cost more, the person you work for is asked' }),
    listens_by: wordLike('idle, stream, poll, or shared with another process'),
  },
  async run({ client, key, name, policy, watcher }, _args, { signal }) {
    const { agent, address, inbox_policy, discoverable } = await client.me({ signal })
    if (agent.name !== name || address !== `${name}@${await client.authority({ signal })}`) {
      throw new AnswerError('the answer is not about this agent')
    }
    const modes = [
      ...(policy.readOnly ? ['read-only'] : []),
      ...(policy.contactsOnly ? ['contacts-only'] : []),
      ...(policy.requireVerified ? ['require-verified'] : []),
      ...(policy.askStrangers ? ['asks before it writes to a new agent or board'] : []),
    ]
    return {
      name: agent.name,
      address,
      agent_id: key.agentId,
      public_key: key.pubkey,
      inbox_policy,
      discoverable,
      modes,
      max_units_per_call: policy.maxUnits,
      listens_by: watcher.mode,
    }
  },
})
