import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto'
import type { AgentKey } from '@svc/sdk/keys.ts'

/**
 * Stands for a short text that others chose, so that a model does not read it. The same text always has the same alias, for
 * every process with this key. Nothing is stored: an alias is the encrypted text.
 */
export interface Aliases {
  /** @returns `ref.` and base64url. */
  hide(text: string): string
  /** @returns undefined if it is no alias of this agent. */
  reveal(alias: string): string | undefined
}

const PREFIX = 'ref.'
const ALGORITHM = 'aes-256-ctr'
const TAG_BYTES = 8
/** The tag is the nonce (a synthetic IV, as in RFC 5297), and shows that the alias is of this agent. */
const COUNTER = Buffer.alloc(8)

export function createAliases({ secretKey }: AgentKey): Aliases {
  const secrets = Buffer.from(hkdfSync('sha256', secretKey, Buffer.alloc(0), 'svc mcp aliases 1', 64))
  const [tagKey, key] = [secrets.subarray(0, 32), secrets.subarray(32)]
  const tagOf = (text: string): Buffer => createHmac('sha256', tagKey).update(text).digest().subarray(0, TAG_BYTES)
  return {
    hide(text) {
      const tag = tagOf(text)
      const hidden = createCipheriv(ALGORITHM, key, Buffer.concat([tag, COUNTER])).update(text, 'utf8')
      return PREFIX + Buffer.concat([tag, hidden]).toString('base64url')
    },
    reveal(alias) {
      const bytes = Buffer.from(alias.slice(PREFIX.length), 'base64url')
      const tag = bytes.subarray(0, TAG_BYTES)
      if (!alias.startsWith(PREFIX) || tag.length < TAG_BYTES) return undefined
      const decipher = createDecipheriv(ALGORITHM, key, Buffer.concat([tag, COUNTER]))
      const text = decipher.update(bytes.subarray(TAG_BYTES)).toString('utf8')
      return tagOf(text).equals(tag) ? text : undefined
    },
  }
}
