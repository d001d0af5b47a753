import type { BoardDetails, MemberEntry, Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { labelOf } from '../../state/agent/people.ts'
import type { Feed } from '../../state/boards/feed.ts'
import type { MayPost } from '../../state/boards/may-post.ts'
import { inPassing } from '../../state/failures.ts'
import { strings } from '../../strings.ts'
import { BodyBox } from '../mail/conversation/body.tsx'
import { JsonView } from '../mail/conversation/json-view.tsx'
import { useOpened } from '../mail/conversation/use-opened.ts'
import { Composer } from '../mail/write/composer.tsx'
import { Avatar } from '../parts/avatar.tsx'
import { SealBadge, TrustBadge } from '../parts/badges.tsx'
import { AgentName } from '../parts/name.tsx'
import { Time } from '../parts/time.tsx'
import { useWorkspace } from '../workspace-context.ts'
import { Moderation, Vote } from './post-actions.tsx'
import { elementOf } from './post-element.ts'

const { boards: texts } = strings

export interface FeedProperties {
  readonly board: BoardDetails
  readonly feed: Feed
  /** Posts that were unread when they were shown. */
  readonly fresh: ReadonlySet<string>
  readonly may: MayPost
  /** Undefined for everyone but the owner. */
  readonly members: readonly MemberEntry[] | undefined
  readonly onMembers: () => Promise<void>
  readonly subscribers: number | undefined
}

interface Properties extends FeedProperties {
  readonly post: Message
  /** Of its thread. */
  readonly root: Message
  readonly isFirstNew: boolean
}

export function Post({ post, root, isFirstNew, fresh, board, feed, may, members, ...shared }: Properties): JSX.Element {
  const { people, drafts } = useWorkspace()
  const { id, from } = post.envelope
  const [isReplying, setReplying] = useState(drafts.all.value.some(({ replyTo }) => replyTo === id))
  const [showsJson, setShowsJson] = useState(false)
  const opened = useOpened(post, `board:${board.id}`)
  const author = labelOf(people, from)
  const endReply = (): void => {
    setReplying(false)
    elementOf(id)?.focus()
  }
  return (
    <>
      {isFirstNew && <p class="day new">{texts.newFrom}</p>}
      <article id={`post-${id}`} data-id={id} class="post" tabIndex={-1} aria-label={texts.post(author)}>
        <header class="post-head">
          <Avatar who={from} size={28} />
          <AgentName who={from} />
          <Time seconds={post.created_at} full />
          {fresh.has(id) && <span class="count">{texts.newFrom}</span>}
          {/* biome-ignore lint/a11y/useSemanticElements: badges are no form */}
          <div class="badges" role="group" aria-label={strings.badges.label}>
            <TrustBadge opened={opened} />
            {'body_enc' in post.envelope && <SealBadge isSealed />}
          </div>
        </header>
        <BodyBox opened={opened} label={strings.mail.body(author)} />
        <div class="actions">
          <Vote post={post} feed={feed} />
          {may === 'yes' && (
            <button
              type="button"
              class="quiet small reply-button"
              aria-expanded={isReplying}
              aria-label={texts.replyTo(author)}
              onClick={() => setReplying(!isReplying)}
            >
              {strings.mail.reply}
            </button>
          )}
          <Moderation post={post} board={board} feed={feed} members={members} onMembers={shared.onMembers} />
          <button type="button" class="quiet small" onClick={() => setShowsJson(true)}>
            {strings.mail.json}
          </button>
        </div>
        {isReplying && (
          <Composer
            fields={{
              to: `board:${board.id}`,
              isSealed: false,
              replyTo: id,
              threadId: root.envelope.thread_id ?? root.envelope.id,
            }}
            isReply
            subscribers={shared.subscribers}
            onDone={(messageId) => {
              endReply()
              if (messageId !== undefined) inPassing(feed.refresh())
            }}
            onDiscard={endReply}
          />
        )}
        {showsJson && <JsonView message={post} opened={opened} onClose={() => setShowsJson(false)} />}
      </article>
    </>
  )
}
