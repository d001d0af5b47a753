import { Type } from '@sinclair/typebox'
import { isAgentName } from '@svc/contracts/ids.ts'
import { ContactState } from '@svc/contracts/resources.ts'
import { ToolError } from '../../output/tool-error.ts'
import {
  AgentId,
  AgentName,
  described,
  FencedName,
  FenceNonce,
  KeyKnownBy,
  Name,
  orNull,
  PublicKey,
} from '../../schemas.ts'
import { defineTool } from '../tool.ts'

const SUGGESTIONS = 10

/** Finds an agent by its name. Pins its key at first use, and compares it with the pin afterwards. */
export const findAgent = defineTool({
  name: 'find_agent',
  title: 'Find an agent',
  description:
    'Looks an agent up by its exact name, and pins its public key: another key for this name is refused later (key_changed). The first answer trusts the service. If no agent has the name, shows similar names of the directory.',
  reach: 'read',
  input: { name: Name },
  output: {
    found: Type.Boolean(),
    name: AgentName,
    agent_id: orNull(AgentId),
    public_key: orNull(PublicKey),
    key_known_by: orNull(KeyKnownBy),
    revoked: Type.Boolean(),
    contact: orNull(described(ContactState, 'State of the agent in your contacts')),
    similar_names: Type.Array(FencedName),
    fence: FenceNonce,
  },
  async run({ client, senders }, { name }, { fence, signal }) {
    try {
      const { agent, known } = await senders.check(name, signal)
      senders.use(known)
      return {
        found: true,
        name: agent.name,
        agent_id: agent.agent_id,
        public_key: agent.pubkey,
        key_known_by: known.source,
        revoked: agent.revoked,
        contact: await client.contactState(agent.agent_id, { signal }),
        similar_names: [],
        fence: fence.nonce,
      }
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== 'unknown_agent') throw error
      const [unknown = ''] = name.split('@')
      const page = await client.agents({ after: unknown, pageSize: SUGGESTIONS, signal }).page()
      const similar = page.items
        .map((agent) => agent.name)
        .filter((other) => isAgentName(other) && other.startsWith(unknown.slice(0, 3)))
      return {
        found: false,
        name: unknown,
        agent_id: null,
        public_key: null,
        key_known_by: null,
        revoked: false,
        contact: null,
        similar_names: similar.map(fence.line),
        fence: fence.nonce,
      }
    }
  },
})
