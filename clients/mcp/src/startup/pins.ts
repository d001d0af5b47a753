import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isAgentName } from '@svc/contracts/ids.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { parsePublicKey } from '@svc/svc1/public-key.ts'
import { StartError } from '../errors.ts'
import { readIfThere } from '../store/files.ts'
import type { Marks } from '../store/marks.ts'

/** Earlier versions kept each pin as `{"name", "agentId", "pubkey", "by"}` in a file of this folder. They stay as they are. */
const EARLIER = 'pins'

/** Aborted, so that the service is not asked for the key of an agent id: it may be down. The pin holds at the first look-up. */
const ASK_NOBODY = AbortSignal.abort()

/**
 * Pins the keys that an earlier version has left in the state folder, and the keys and agent ids that the person configured.
 * @param configured `<name>=<agent id>` or `<name>=ed25519:<HEX>`.
 * @throws StartError if a pin is malformed, or contradicts another pin.
 */
export async function pinKnownKeys(
  client: AgentClient,
  used: Marks,
  { folder, configured }: { folder: string; configured: readonly string[] },
): Promise<void> {
  for (const { path, name, pubkey } of earlierPins(join(folder, EARLIER))) {
    await pinKey(client, { name, keyOrId: pubkey, source: path })
    used.add(name)
  }
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

function earlierPins(folder: string): { path: string; name: string; pubkey: string }[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name)
    const text = readIfThere(path)?.toString('utf8') ?? ''
    // A process that was killed while it created the file has left it empty.
    return text === '' ? [] : [{ path, name, pubkey: pubkeyIn(path, text) }]
  })
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter(isAgentName)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function pubkeyIn(path: string, text: string): string {
  try {
    const { pubkey } = JSON.parse(text) as { pubkey?: unknown }
    if (typeof pubkey === 'string') return pubkey
  } catch {
    // Reported below.
  }
  throw new StartError(`${path} is damaged. Restore it, or remove it: then the key of this name is pinned anew`)
}
