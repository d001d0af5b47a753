import type { BoardDetails, Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { labelOf } from '../../state/agent/people.ts'
import type { Feed, PostThread } from '../../state/boards/feed.ts'
import { attempt } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { BodyBox } from '../mail/read/body.tsx'
import { JsonView } from '../mail/read/json-view.tsx'
import { useOpened } from '../mail/read/use-opened.ts'
import { Composer } from '../mail/write/composer.tsx'
import { SealBadge, TrustBadge } from '../parts/badges.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { Icon } from '../parts/icon.tsx'
import { AgentName } from '../parts/name.tsx'
import { Time } from '../parts/time.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings

interface Shared {
  readonly board: BoardDetails
  readonly feed: Feed
  readonly subscribers: number | undefined
}

/** A post with its answers. */
export function Thread({ thread: { root, replies }, ...shared }: Shared & { thread: PostThread }): JSX.Element {
  return (
    <article class="thread">
      <Post post={root} root={root} {...shared} />
      {replies.length > 0 && (
        <ol>
          {replies.map((reply) => (
            <li key={reply.envelope.id}>
              <Post post={reply} root={root} {...shared} />
            </li>
          ))}
        </ol>
      )}
    </article>
  )
}

function Post({ post, root, board, feed, subscribers }: Shared & { post: Message; root: Message }): JSX.Element {
  const { people } = useWorkspace()
  const [isReplying, setReplying] = useState(false)
  const [showsJson, setShowsJson] = useState(false)
  const opened = useOpened(post, `board:${board.id}`)
  const { id, from } = post.envelope
  const author = labelOf(people, from)
  return (
    <div class="post">
      <header class="message-head">
        <AgentName who={from} />
        <Time seconds={post.created_at} full />
        {/* biome-ignore lint/a11y/useSemanticElements: badges are no form */}
        <div class="badges" role="group" aria-label={strings.badges.label}>
          <TrustBadge opened={opened} />
          {'body_enc' in post.envelope && <SealBadge isSealed />}
        </div>
      </header>
      <BodyBox opened={opened} label={strings.mail.body(author)} />
      <div class="actions">
        <Vote post={post} feed={feed} />
        <button
          type="button"
          class="quiet small"
          aria-expanded={isReplying}
          aria-label={texts.replyTo(author)}
          onClick={() => setReplying(!isReplying)}
        >
          {strings.mail.reply}
        </button>
        <Hide post={post} board={board} feed={feed} />
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
          subscribers={subscribers}
          onDone={(messageId) => {
            setReplying(false)
            if (messageId !== undefined) void attempt(() => feed.readMore())
          }}
          onDiscard={() => setReplying(false)}
        />
      )}
      {showsJson && <JsonView message={post} opened={opened} onClose={() => setShowsJson(false)} />}
    </div>
  )
}

function Vote({ post, feed }: { post: Message; feed: Feed }): JSX.Element {
  const { boards, people, budget } = useWorkspace()
  const { id, from } = post.envelope
  const isUp = boards.marks.value.voted.includes(id)
  const isOwn = people.isOwn(from)
  return (
    <BusyButton
      class="quiet small vote"
      label={texts.vote(post.upvotes)}
      title={isOwn ? texts.voteOwn : undefined}
      isPressed={isUp}
      isDisabled={isOwn}
      onPress={async () => {
        await boards.vote(id, !isUp)
        feed.change(id, { upvotes: post.upvotes + (isUp ? -1 : 1) })
        await attempt(() => budget.refresh())
      }}
    >
      <Icon name="up" />
      {post.upvotes}
    </BusyButton>
  )
}

/** Only the owner of the board may hide. */
function Hide({ post, board, feed }: { post: Message; board: BoardDetails; feed: Feed }): JSX.Element | null {
  const { boards, agentId } = useWorkspace()
  if (board.owner !== agentId) return null
  const { id } = post.envelope
  return (
    <BusyButton
      class="quiet small"
      onPress={async () => {
        await boards.setHidden(board.id, id, true)
        feed.remove(id)
        notify(texts.hidden)
      }}
    >
      {texts.hide}
    </BusyButton>
  )
}
