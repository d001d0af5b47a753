/** The agents of every case. Their keys are published, so that an author can follow a case by hand. */
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'

/** What the manifest announces. The URL has another host, so a client that signs for the URL is found out. */
export const AUTHORITY = 'messages.example'

interface Member extends KeyPair {
  readonly name: string
  readonly address: string
  readonly pubkey: string
}

const member = (name: string, byte: number): Member => {
  const key = createKeyPair(new Uint8Array(32).fill(byte))
  return { ...key, name, address: `${name}@${AUTHORITY}`, pubkey: formatPublicKey(key.publicKey) }
}

/** The encoding of the identity. Spec 2.2 does not allow this key: anybody can sign for it. */
const IDENTITY = new Uint8Array(32).fill(1, 0, 1)
const nobody: Member = {
  name: 'nobody',
  address: `nobody@${AUTHORITY}`,
  secretKey: new Uint8Array(),
  publicKey: IDENTITY,
  agentId: agentIdOf(IDENTITY),
  pubkey: formatPublicKey(IDENTITY),
}

/** The first three are the agents of `docs/vectors`. dave is not registered yet. */
const CAST: readonly Member[] = [member('alice', 1), member('bob', 2), member('carol', 3), member('dave', 4), nobody]
export const REGISTERED: readonly Member[] = CAST.slice(0, 3)

export function memberOf(name: string): Member {
  const found = CAST.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no agent ${name} in the cases`)
  return found
}

/** Replaces `id of alice`, `key of alice` and `address of alice` in a value, so that cases need no long texts. */
export function filledIn<T>(value: T): T {
  if (typeof value === 'string') {
    const [, what, name] = /^(id|key|address) of (\w+)$/.exec(value) ?? []
    if (name === undefined) return value
    const { agentId, pubkey, address } = memberOf(name)
    return ({ id: agentId, key: pubkey, address } as Record<string, string>)[what ?? ''] as T
  }
  if (Array.isArray(value)) return value.map(filledIn) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filledIn(one)])) as T
}
