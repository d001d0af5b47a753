import type { Agent, Envelope } from '@svc/contracts/resources.ts'
import { parseSender } from '@svc/envelope/address.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { formatPublicKey, parsePublicKey } from '@svc/svc1/public-key.ts'
import { VerificationError } from '../errors.ts'
import type { Store } from '../store/store.ts'

/** An agent whose name and key are known. */
export interface KnownAgent {
  readonly agentId: string
  readonly name: string
  /** `ed25519:<64 hex digits>`. */
  readonly pubkey: string
}

/**
 * Names and keys of agents. An agent id is the hash of its key, so an entry by id is never wrong. A name says nothing about
 * a key: the first answer of the service is believed, kept as a pin, and every other answer for this name is refused later.
 */
export interface People {
  /** The key of an agent id, raw 32 bytes. Undefined if none is known. */
  findKey(agentId: string): Uint8Array | undefined
  /** The name of an agent id, as far as this client has learnt it. */
  nameOf(agentId: string): string | undefined
  /** Remembers a key under its own id. @returns the id. @throws TypeError for a key that the service would not register. */
  trust(pubkey: string): string
  /**
   * Pins the key of a name.
   * @throws TypeError as `trust`.
   * @throws VerificationError `key_changed` if the name is pinned to another key.
   */
  pin(name: string, pubkey: string): Promise<KnownAgent>
  /** The agent that this name is pinned to. */
  findPinned(name: string): Promise<KnownAgent | undefined>
  /** The agent with this name: pinned, or else asked for and pinned. @throws VerificationError `key_changed`. */
  ofName(name: string, lookup: (name: string) => Promise<Agent>): Promise<KnownAgent>
}

/** Beyond this number the oldest entry is dropped, so that the memory of a client that meets many agents stays bounded. */
const MAX_AGENTS = 10_000
/** Pins of names in a store. */
const PIN = 'pin/'

/** @param store keeps the pins for later processes. Undefined: for this process only. */
export function createPeople(store: Store | undefined): People {
  const keys = new Map<string, Uint8Array>()
  const names = new Map<string, string>()
  const pins = new Map<string, KnownAgent>()

  function trust(pubkey: string): string {
    const publicKey = publicKeyOf(pubkey)
    const agentId = agentIdOf(publicKey)
    remember(keys, agentId, publicKey)
    return agentId
  }

  async function pinned(name: string): Promise<KnownAgent | undefined> {
    const known = pins.get(name)
    if (known !== undefined) return known
    const pubkey = await store?.get(PIN + name)
    return pubkey === undefined ? undefined : learn(name, pubkey)
  }

  function learn(name: string, text: string): KnownAgent {
    const agentId = trust(text)
    const agent = { agentId, name, pubkey: formatPublicKey(publicKeyOf(text)) }
    remember(names, agentId, name)
    remember(pins, name, agent)
    return agent
  }

  const people: People = {
    findKey: (agentId) => keys.get(agentId),
    findPinned: pinned,
    nameOf: (agentId) => names.get(agentId),
    trust,
    async pin(name, pubkey) {
      const earlier = await pinned(name)
      if (earlier === undefined) {
        const agent = learn(name, pubkey)
        await store?.set(PIN + name, agent.pubkey)
        return agent
      }
      if (earlier.agentId === agentIdOf(publicKeyOf(pubkey))) return earlier
      throw new VerificationError(
        'key_changed',
        `the key of ${name} is not the one that was seen first (${earlier.agentId}), although a name never changes its key: do not trust this service, or this connection`,
      )
    },
    async ofName(name, lookup) {
      return (await pinned(name)) ?? people.pin(name, (await lookup(name)).pubkey)
    },
  }
  return people
}

/** The agent id in a `from`, if it has one; otherwise the name and the authority. @throws VerificationError if malformed. */
export function senderOf({ id, from }: Pick<Envelope, 'id' | 'from'>): NonNullable<ReturnType<typeof parseSender>> {
  const sender = parseSender(from)
  if (sender !== undefined) return sender
  throw new VerificationError('unknown_sender', `the envelope ${id} names no sender`)
}

/** The 32 bytes of `ed25519:<HEX>`. @throws TypeError for a key that the service would not register (spec 2.2). */
export function publicKeyOf(pubkey: string): Uint8Array {
  const publicKey = parsePublicKey(pubkey)
  if (publicKey === undefined)
    throw new TypeError('a public key must be ed25519:<64 hex digits>, and a curve point of prime order')
  return publicKey
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  const [oldest] = map.keys()
  if (oldest !== undefined && map.size >= MAX_AGENTS && !map.has(key)) map.delete(oldest)
  map.set(key, value)
}
