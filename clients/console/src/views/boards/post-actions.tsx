import type { BoardDetails, MemberEntry, Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { labelOf } from '../../state/agent/people.ts'
import type { Feed } from '../../state/boards/feed.ts'
import { attempt } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Icon } from '../parts/icon.tsx'
import { useWorkspace } from '../workspace-context.ts'
import { elementOf } from './post-element.ts'

const { boards: texts } = strings

export function Vote({ post, feed }: { post: Message; feed: Feed }): JSX.Element {
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
        await feed.countWhile(id, isUp ? -1 : 1, () => boards.vote(id, !isUp))
        await attempt(() => budget.refresh())
      }}
    >
      <Icon name="up" />
      {post.upvotes}
    </BusyButton>
  )
}

interface ModerationProperties {
  readonly post: Message
  readonly board: BoardDetails
  readonly feed: Feed
  readonly members: readonly MemberEntry[] | undefined
  readonly onMembers: () => Promise<void>
}

/** Only the owner of the board may hide posts and ban their authors. */
export function Moderation(properties: ModerationProperties): JSX.Element | null {
  const { post, board, feed, members, onMembers } = properties
  const { boards, people, agentId } = useWorkspace()
  if (board.owner !== agentId) return null
  const { id, from } = post.envelope
  const author = labelOf(people, from)
  const authorId = people.find(from)?.agentId
  const role = members?.find(({ agent_id }) => agent_id === authorId)?.role

  async function hide(): Promise<void> {
    await boards.setHidden(board.id, id, true)
    feed.remove(id)
    const restore = async (): Promise<void> => {
      await boards.setHidden(board.id, id, false)
      feed.add(post)
      // The notice, which had the focus, is gone, and the post is drawn after this task.
      setTimeout(() => elementOf(id)?.focus())
    }
    notify(texts.hidden, 'done', { label: texts.undo, run: () => void attempt(restore) })
  }

  async function ban(): Promise<void> {
    const banned = await people.idOf(from)
    const known = members ?? (await boards.members(board.id)) ?? []
    const before = known.find(({ agent_id }) => agent_id === banned)?.role ?? 'none'
    await boards.setMember(board.id, banned, 'banned')
    const lift = async (): Promise<void> => {
      // The owner cannot be banned.
      if (before !== 'owner') await boards.setMember(board.id, banned, before)
      await onMembers()
      elementOf(id)?.focus()
    }
    notify(texts.banned(author), 'done', { label: texts.undo, run: () => void attempt(lift) })
    await onMembers()
    // The buttons that ban this agent are gone.
    elementOf(id)?.focus()
  }

  return (
    <>
      <BusyButton class="quiet small" title={texts.hideOf(author)} onPress={hide}>
        {texts.hide}
      </BusyButton>
      {!people.isOwn(from) && role !== 'banned' && (
        <BusyButton class="quiet small" onPress={ban}>
          {texts.ban(author)}
        </BusyButton>
      )}
    </>
  )
}
