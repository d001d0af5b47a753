/** Notices that an agent was revoked, and shows what this browser keeps of it. */
import type { Archive, Entry, PostMark } from '../mail/archive.ts'
import type { AgentContext } from './context.ts'

const UNAUTHORIZED = 401
const CODE = 'signer_revoked'

/** @param onRevoked called when an answer to any call says that its signer was revoked. */
export function watchRevocation(onRevoked: () => void): typeof fetch {
  return async (target, options) => {
    const response = await fetch(target, options)
    if (response.status === UNAUTHORIZED && (await isRevocation(response.clone()))) onRevoked()
    return response
  }
}

async function isRevocation(response: Response): Promise<boolean> {
  try {
    const { error } = (await response.json()) as { error?: { code?: unknown } }
    return error?.code === CODE
  } catch {
    return false // a proxy answered
  }
}

/** Shows what this browser keeps of the history, because the service does not show it any more. */
export async function restoreKept({
  context,
  archive,
}: {
  readonly context: AgentContext
  readonly archive: Archive
}): Promise<void> {
  for (const { value } of await context.store.history.list()) {
    const { entries = [], posts = [] } = value as { entries?: readonly Entry[]; posts?: readonly PostMark[] }
    archive.restore(entries, posts)
  }
}
