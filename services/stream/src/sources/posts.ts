import { resolvePost } from '@svc/contracts/messaging.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { PostReference } from '../domain/backlog.ts'

/** Resolves the references to posts that events carry, with access checked at that moment. */
export interface Posts {
  /**
   * Returns the post's Message in JSON. Returns undefined if the agent may not see it now: the post is hidden or gone,
   * or its board is not readable for the agent (spec 8.2, 8.9).
   * @throws ServiceError `unavailable`.
   */
  find(post: PostReference, agentId: string): Promise<string | undefined>
}

interface Resolved {
  readonly text: string
  /** The agents that may read the post. */
  readonly readers: ReadonlySet<string>
}

const RESOLVE_LIMIT_MS = 2_500

/**
 * A post reaches many agents at once, so the streams of a process share one call per post (single-flight). The answer
 * is not cached.
 */
export function createPosts(bus: Bus): Posts {
  const underWay = new Map<string, Promise<Resolved>>()

  async function resolve({ id, boardId }: PostReference): Promise<Resolved> {
    const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + RESOLVE_LIMIT_MS }
    const { meta, text } = await bus.callText(resolvePost, { id, board_id: boardId }, context)
    return { text, readers: new Set(meta.subscribers) }
  }

  return {
    async find(post, agentId) {
      const key = `${post.boardId} ${post.id}`
      let resolving = underWay.get(key)
      if (resolving === undefined) {
        resolving = resolve(post).finally(() => underWay.delete(key))
        underWay.set(key, resolving)
      }
      const { text, readers } = await resolving
      return readers.has(agentId) && text !== '' ? text : undefined
    },
  }
}
