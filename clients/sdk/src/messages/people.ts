import type { Agent, Envelope } from '@svc/contracts/resources.ts'
import { isName, isSameAuthority, parseSender } from '@svc/envelope/address.ts'
import { agentIdOf, isAgentId } from '@svc/svc1/agent-id.ts'
import { formatPublicKey, parsePublicKey } from '@svc/svc1/public-key.ts'
import { isCode, StoreError, VerificationError } from '../errors.ts'
import type { Store } from '../store/store.ts'

/** An agent whose name and key are known. */
export interface KnownAgent {
  readonly agentId: string
  readonly name: string
  /** `ed25519:<64 hex digits>`. */
  readonly pubkey: string
}

interface PeopleDeps {
  /** Keeps the pins for later processes. Undefined: for this process only. */
  readonly store: Store | undefined
  /** Asks the service for the agent with a name. */
  readonly ask: (name: string, signal: AbortSignal | undefined) => Promise<Agent>
  readonly authority: (signal: AbortSignal | undefined) => Promise<string>
}

/** Beyond this number the oldest entry is dropped, so that the memory of a client that meets many agents stays bounded. */
const MAX_AGENTS = 10_000
/** In the store: the key, or the agent id, that a name is pinned to, and the name that an id was learnt with. */
const PIN = 'pin/'
const NAME = 'name/'
/** `ed25519:<hex>`, in contrast to a name and to an address with a port. */
const PUBLIC_KEY = /^[a-z0-9]+:[^@]*$/i

/**
 * The names and keys of agents. An agent id is the hash of its key, so a key by id is never wrong. A name says nothing about a
 * key: the first answer of the service is believed and kept as a pin, and every other answer for this name is refused later.
 */
export class People {
  readonly #deps: PeopleDeps
  readonly #keys = new Map<string, Uint8Array>()
  readonly #names = new Map<string, string>()
  readonly #pins = new Map<string, KnownAgent>()
  /** Names that are pinned to an agent id whose key was not seen yet. */
  readonly #pinnedIds = new Map<string, string>()

  constructor(deps: PeopleDeps) {
    this.#deps = deps
  }

  /** Remembers a key under its own id. @returns the id. @throws TypeError for a key that the service would not register. */
  trust(pubkey: string): string {
    const publicKey = publicKeyOf(pubkey)
    const agentId = agentIdOf(publicKey)
    remember(this.#keys, agentId, publicKey)
    return agentId
  }

  /** The key of an agent id, if it was seen: 32 bytes. */
  findKey(agentId: string): Uint8Array | undefined {
    return this.#keys.get(agentId)
  }

  /** The name that an agent id was learnt with. */
  async findName(agentId: string): Promise<string | undefined> {
    const known = this.#names.get(agentId)
    if (known !== undefined || !isAgentId(agentId)) return known
    const stored = await this.#deps.store?.get(NAME + agentId)
    // The pin decides. It can be missing if the process was killed between the two entries.
    return stored !== undefined && (await this.#findPinned(stored))?.agentId === agentId ? stored : undefined
  }

  /** Asks the service for an agent, and pins its key. @throws VerificationError `key_changed`. */
  async lookup(name: string, signal: AbortSignal | undefined): Promise<Agent> {
    const agent = await this.#deps.ask(name, signal)
    await this.pin(name, agent.pubkey)
    return agent
  }

  /** Pins the key of a name. @throws VerificationError `key_changed`. @throws TypeError for an invalid name or key. */
  async pin(name: string, pubkey: string): Promise<KnownAgent> {
    const agentId = agentIdOf(publicKeyOf(pubkey))
    await this.#assertPin(name, agentId)
    const pinned = await this.#findPinned(name)
    if (pinned !== undefined) return pinned
    const agent = this.#learn(name, pubkey)
    try {
      await this.#deps.store?.set(NAME + agent.agentId, name)
      await this.#deps.store?.set(PIN + name, agent.pubkey)
    } catch (error) {
      // The next look-up stores it. Otherwise a later process would not know the pin.
      this.#pins.delete(name)
      throw error
    }
    return agent
  }

  /** Pins the agent id of a name, and asks the service for the key. The pin holds even if that fails. @throws what `pin` throws. */
  async pinId(name: string, agentId: string, signal: AbortSignal | undefined): Promise<KnownAgent> {
    await this.#assertPin(name, agentId)
    if ((await this.#findPinned(name)) === undefined) {
      remember(this.#pinnedIds, name, agentId)
      await this.#deps.store?.set(PIN + name, agentId)
    }
    return this.resolve(name, signal)
  }

  /**
   * The agent that a name, an address of this service, or an agent id stands for: the pinned one, or the service's answer.
   * @throws VerificationError `unknown_sender` for an id or an authority that is not known here; `key_changed`.
   */
  async resolve(who: string, signal: AbortSignal | undefined): Promise<KnownAgent> {
    const name = isAgentId(who) ? await this.findName(who) : await this.#nameIn(who, signal)
    if (name === undefined)
      throw new VerificationError('unknown_sender', `no name is known for ${who}: give the name or the address`)
    return (await this.#findPinned(name)) ?? (await this.pin(name, (await this.#deps.ask(name, signal)).pubkey))
  }

  /** The agent id that a name, an address of this service, or an agent id stands for. An id stands for itself. */
  async idOf(who: string, signal: AbortSignal | undefined): Promise<string> {
    return isAgentId(who) ? who : (await this.resolve(who, signal)).agentId
  }

  /**
   * The key that an envelope's signature must have.
   * @param expected who the caller says the sender is: a name, an address, an agent id or a public key.
   * @returns undefined if no key is known.
   * @throws VerificationError `wrong_key` if the envelope names another sender than the expected one; `key_changed`.
   */
  async keyOfSender(
    { id, from }: Pick<Envelope, 'id' | 'from'>,
    expected: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    const other = (): never => {
      throw new VerificationError('wrong_key', `the envelope ${id} names ${from} as its sender, not ${expected}`)
    }
    const sender = parseSender(from)
    if (sender === undefined) throw new VerificationError('unknown_sender', `the envelope ${id} names no sender`)
    if (expected !== undefined && PUBLIC_KEY.test(expected)) {
      const publicKey = publicKeyOf(expected)
      // No key can be held against a name at another service.
      if (sender.kind === 'agent' && !isSameAuthority(sender.authority, await this.#deps.authority(signal)))
        return undefined
      const agentId = sender.kind === 'id' ? sender.id : await this.#findPinnedId(sender.name)
      return agentId === undefined || agentId === this.trust(expected) ? publicKey : other()
    }
    if (sender.kind === 'id') {
      if (expected === undefined || expected === sender.id) return this.#findStoredKey(sender.id)
      const known = isAgentId(expected) ? other() : await this.resolve(expected, signal)
      return known.agentId === sender.id ? publicKeyOf(known.pubkey) : other()
    }
    if (expected !== undefined && !isAgentId(expected)) {
      const isNamed = (await this.#nameIn(expected, signal)) === sender.name
      if (!isNamed || !isSameAuthority(sender.authority, await this.#deps.authority(signal))) other()
    }
    const known = await this.#findAgent(from, expected, signal)
    if (known !== undefined && isAgentId(expected ?? '') && known.agentId !== expected) other()
    return known && publicKeyOf(known.pubkey)
  }

  /** The pinned agent, or the service's answer, which is pinned only if it is the expected agent. */
  async #resolveAs(name: string, agentId: string, signal: AbortSignal | undefined): Promise<KnownAgent> {
    const pinned = await this.#findPinned(name)
    if (pinned !== undefined) return pinned
    const { pubkey } = await this.#deps.ask(name, signal)
    const answered = agentIdOf(publicKeyOf(pubkey))
    return answered === agentId ? this.pin(name, pubkey) : { agentId: answered, name, pubkey }
  }

  /** The agent with an address. Undefined for an address of another service, and for a name that the service does not know. */
  async #findAgent(
    address: string,
    expected: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<KnownAgent | undefined> {
    try {
      const name = await this.#nameIn(address, signal)
      // An id that the caller was told decides, so an answer of the service for another id must not become the pin.
      if (expected !== undefined && isAgentId(expected)) return await this.#resolveAs(name, expected, signal)
      return await this.resolve(address, signal)
    } catch (error) {
      if (isCode(error, 'not_found')) return undefined
      if (error instanceof VerificationError && error.reason === 'unknown_sender') return undefined
      throw error
    }
  }

  /** The name in a name or an address. @throws VerificationError `unknown_sender` for an address of another service. */
  async #nameIn(who: string, signal: AbortSignal | undefined): Promise<string> {
    const at = who.indexOf('@')
    if (at < 0) return who
    if (isSameAuthority(who.slice(at + 1), await this.#deps.authority(signal))) return who.slice(0, at)
    throw new VerificationError('unknown_sender', `${who} is not an address of this service`)
  }

  /** The key of an agent id, if it was seen, also by an earlier process. */
  async #findStoredKey(agentId: string): Promise<Uint8Array | undefined> {
    const seen = this.findKey(agentId)
    if (seen !== undefined) return seen
    await this.findName(agentId) // learns the key that is pinned to the name
    return this.findKey(agentId)
  }

  async #findPinned(name: string): Promise<KnownAgent | undefined> {
    const known = this.#pins.get(name)
    if (known !== undefined || !isName(name)) return known
    const pin = await this.#deps.store?.get(PIN + name)
    // Another call may have pinned the name meanwhile.
    const pinned = this.#pins.get(name)
    if (pinned !== undefined || pin === undefined) return pinned
    if (parsePublicKey(pin) !== undefined) return this.#learn(name, pin)
    if (!isAgentId(pin))
      throw new StoreError(
        `${PIN}${name} in the store is damaged: write the public key or the agent id of ${name} into it`,
      )
    remember(this.#pinnedIds, name, pin)
    return undefined
  }

  /** The id that a name is pinned to. */
  async #findPinnedId(name: string): Promise<string | undefined> {
    return (await this.#findPinned(name))?.agentId ?? this.#pinnedIds.get(name)
  }

  async #assertPin(name: string, agentId: string): Promise<void> {
    if (!isName(name)) throw new TypeError(`${name} cannot be the name of an agent`)
    this.#assertSame(name, agentId, await this.#findPinnedId(name))
  }

  #assertSame(name: string, agentId: string, pinnedId: string | undefined): void {
    if (pinnedId === undefined || pinnedId === agentId) return
    throw new VerificationError(
      'key_changed',
      `the key of ${name} is not that of ${pinnedId}, to which the name is pinned, although a name never changes its key: do not trust this service, or this connection`,
    )
  }

  #learn(name: string, text: string): KnownAgent {
    const agentId = this.trust(text)
    // Another look-up may have ended since this one asked whether there is a pin.
    this.#assertSame(name, agentId, this.#pins.get(name)?.agentId ?? this.#pinnedIds.get(name))
    const agent = { agentId, name, pubkey: formatPublicKey(publicKeyOf(text)) }
    remember(this.#names, agentId, name)
    remember(this.#pins, name, agent)
    return agent
  }
}

/** The 32 bytes of `ed25519:<HEX>`. @throws TypeError for a key that the service would not register (spec 2.2). */
export function publicKeyOf(pubkey: string): Uint8Array {
  const known = checked.get(pubkey)
  if (known !== undefined) return known.slice()
  const publicKey = parsePublicKey(pubkey)
  if (publicKey === undefined)
    throw new TypeError('a public key must be ed25519:<64 hex digits>, and a curve point of prime order')
  remember(checked, pubkey, publicKey.slice())
  return publicKey
}

/** Keys that were found to be allowed, by their text. The check takes 0.7 ms, and each message of an agent needs its key. */
const checked = new Map<string, Uint8Array>()

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  const [oldest] = map.keys()
  if (oldest !== undefined && map.size >= MAX_AGENTS && !map.has(key)) map.delete(oldest)
  map.set(key, value)
}
