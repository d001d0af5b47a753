import type { Draft } from '../../../state/mail/drafts.ts'
import type { Page } from '../../../state/route.ts'

/** `answer` and `postAnswer` answer something. */
type DraftKind = 'message' | 'answer' | 'post' | 'postAnswer'

interface DraftPlace {
  readonly kind: DraftKind
  readonly page: Page
  readonly id: string
}

const BOARD = 'board:'

/** Where a draft is continued. @param isHere whether a message that is answered can still be shown. */
export function placeOfDraft(
  { id, to, replyTo }: Pick<Draft, 'id' | 'to' | 'replyTo'>,
  isHere: (messageId: string) => boolean,
): DraftPlace {
  if (to.startsWith(BOARD)) {
    const boardId = to.slice(BOARD.length)
    return { kind: replyTo === undefined ? 'post' : 'postAnswer', page: 'boards', id: boardId }
  }
  if (replyTo === undefined) return { kind: 'message', page: 'write', id }
  return isHere(replyTo) ? { kind: 'answer', page: 'inbox', id: replyTo } : { kind: 'answer', page: 'write', id }
}
