import { resolvePost } from '@svc/contracts/messaging.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { PostReference } from './domain/backlog.ts'

/** Posts by the references that events carry, with access checked as they are read. */
export interface Posts {
  /**
   * The post's Message in JSON; undefined where it is not the agent's to see now: hidden, gone, or on a board that the agent
   * may not read (spec 8.2, 8.9).
   * @throws ServiceError `unavailable`.
   */
  find(post: PostReference, agentId: string): Promise<string | undefined>
}

interface Resolved {
  readonly text: string
  /** Of those whose event it is. */
  readonly readers: ReadonlySet<string>
}

const RESOLVE_LIMIT_MS = 2_500

/**
 * A post reaches many agents at once, so the streams of a process ask for it together: one question is under way
 * for each post, and nothing is kept behind its answer.
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
