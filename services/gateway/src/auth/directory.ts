import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { findAgent, findAgentByName } from '@svc/contracts/identity.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { importPublicKey, parsePublicKeyNode, type VerifyKey } from '@svc/svc1/node/verify-node.ts'
import { LRUCache } from 'lru-cache'
import { cachedEntries } from '../metrics.ts'

/**
 * Keys and names of agents, fetched from identity and cached in memory for ten minutes. Entries cannot be wrong: an agent id is the
 * hash of its key, and names are never reassigned. An erased agent may stay here until its time is over; identity refuses its
 * requests, and messaging refuses messages to it. Unknown agents are not cached, because they may register at any time.
 * Revocations are not cached either.
 */
export interface Directory {
  /** The key of a registered agent, revoked agents included. @throws ServiceError `unavailable`. */
  findKey(agentId: string, context: CallContext): Promise<VerifyKey | undefined>
  /** The name of a registered agent. Free after `findKey`. @throws ServiceError `unavailable`. */
  findName(agentId: string, context: CallContext): Promise<string | undefined>
  /** The id of the agent with exactly this name, revoked agents included. @throws ServiceError `unavailable`. */
  findAgentId(name: string, context: CallContext): Promise<string | undefined>
}

interface KnownAgent {
  readonly key: VerifyKey
  readonly name: string
}

// A key takes about 1 KB, most of it outside the JavaScript heap. A name takes about 200 bytes.
const MAX_KEYS = 50_000
const MAX_NAMES = 100_000
const TTL_MS = 10 * 60 * 1_000

export function createDirectory(bus: Bus): Directory {
  const agents = new LRUCache<string, KnownAgent>({ max: MAX_KEYS, ttl: TTL_MS })
  const ids = new LRUCache<string, string>({ max: MAX_NAMES, ttl: TTL_MS })
  cachedEntries.read(() => [
    [{ cache: 'keys' }, agents.size],
    [{ cache: 'names' }, ids.size],
  ])
  return {
    findKey: async (agentId, context) => (await find(agentId, context))?.key,
    findName: async (agentId, context) => (await find(agentId, context))?.name,
    async findAgentId(name, context) {
      const known = ids.get(name)
      if (known !== undefined) return known
      const { agent } = await bus.call(findAgentByName, { name }, context)
      if (agent === null) return undefined
      ids.set(name, agent.agent_id)
      return agent.agent_id
    },
  }

  async function find(agentId: string, context: CallContext): Promise<KnownAgent | undefined> {
    const known = agents.get(agentId)
    if (known !== undefined) return known
    const { agent } = await bus.call(findAgent, { agent_id: agentId }, context)
    if (agent === null) return undefined
    // The contract checks that the agent id is the hash of the key. Identity checked the point at registration, but a key that
    // is cached must not depend on that: signatures under a key of small order can be forged.
    const publicKey = parsePublicKeyNode(agent.pubkey)
    if (publicKey === undefined)
      throw new ServiceError('internal', { cause: new Error('identity returned an invalid key') })
    const found = { key: importPublicKey(publicKey), name: agent.name }
    agents.set(agentId, found)
    return found
  }
}
