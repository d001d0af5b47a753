import { isAgentName } from '@svc/contracts/ids.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { parsePublicKey } from '@svc/svc1/public-key.ts'
import { StartError } from '../errors.ts'
import type { Marks } from '../store/marks.ts'

/** Aborted, so that the service is not asked for the key of an agent id: it may be down. The pin holds at the first look-up. */
const ASK_NOBODY = AbortSignal.abort()

/**
 * Pins the keys and agent ids that the person configured.
 * @param configured `<name>=<agent id>` or `<name>=ed25519:<HEX>`.
 * @throws StartError if a pin is malformed, or contradicts another pin.
 */
export async function pinConfiguredKeys(
  client: AgentClient,
  used: Marks,
  configured: readonly string[],
): Promise<void> {
  for (const text of configured) {
    const [name = '', keyOrId = '', ...more] = text.split('=')
    const source = `--pin ${text}`
    const isKeyOrId = more.length === 0 && (isAgentId(keyOrId) || parsePublicKey(keyOrId) !== undefined)
    if (!isAgentName(name) || !isKeyOrId)
      throw new StartError(`${source} is malformed: use <name>=<agent id> or <name>=<public key, ed25519:…>`)
    await pinKey(client, { name, keyOrId, source })
    used.add(name)
  }
}

/** @param source where the key or id is from. @throws StartError if it is malformed, or another key is pinned for the name. */
export async function pinKey(
  client: AgentClient,
  { name, keyOrId, source }: { name: string; keyOrId: string; source: string },
): Promise<void> {
  try {
    await client.pin(name, keyOrId, { signal: ASK_NOBODY })
  } catch (cause) {
    if (cause === ASK_NOBODY.reason) return
    if (cause instanceof TypeError) throw new StartError(`${source}: ${cause.message}`, { cause })
    if (!(cause instanceof VerificationError)) throw cause
    throw new StartError(
      `${source}: the state folder pins another key for ${name}, so one of the two keys is wrong. Find out which one is right, and remove the other one`,
      { cause },
    )
  }
}
