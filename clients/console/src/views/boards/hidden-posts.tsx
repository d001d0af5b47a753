import type { Message } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { labelOf } from '../../state/agent/people.ts'
import { shortId } from '../../state/agent/short-id.ts'
import { explain } from '../../state/failures.ts'
import { excerptOf } from '../../state/mail/excerpt.ts'
import { textOf } from '../../state/mail/texts.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { useOpened } from '../mail/conversation/use-opened.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Field } from '../parts/field.tsx'
import { AgentName } from '../parts/name.tsx'
import { Time } from '../parts/time.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings

/** Restores posts. The service does not list hidden posts, so this browser remembers which posts were hidden here. */
export function HiddenPosts(properties: { boardId: string; onRestore: (post: Message) => void }): JSX.Element {
  const { boardId, onRestore } = properties
  const { boards, context } = useWorkspace()
  const [isOpen, setOpen] = useState(false)
  const summary = useRef<HTMLElement>(null)
  const hidden = boards.marks.value.hidden[boardId] ?? []

  async function restore(postId: string): Promise<void> {
    await boards.setHidden(boardId, postId, false)
    onRestore(await context.client.message(postId, { signal: context.ended }))
    notify(texts.restored)
    // The row of the post, which had the focus, is gone.
    summary.current?.focus()
  }

  return (
    <details class="box" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary ref={summary}>
        {texts.hiddenTitle} {hidden.length > 0 && <span class="count plain">{hidden.length}</span>}
      </summary>
      <p class="hint">{texts.hiddenHint}</p>
      {hidden.length === 0 && <p>{texts.hiddenNone}</p>}
      <ul class="rows">
        {isOpen &&
          hidden.toReversed().map((postId) => (
            <li key={postId}>
              <HiddenPost boardId={boardId} postId={postId} onRestore={() => restore(postId)} />
            </li>
          ))}
      </ul>
      <RestoreById onRestore={restore} />
    </details>
  )
}

interface PostProperties {
  readonly boardId: string
  readonly postId: string
  readonly onRestore: () => Promise<void>
}

/** The owner alone may still read a hidden post, by its id (spec 8.9). */
function HiddenPost({ boardId, postId, onRestore }: PostProperties): JSX.Element {
  const { boards, context, people } = useWorkspace()
  const [post, setPost] = useState<Message | undefined>(undefined)
  const [isUnknown, setUnknown] = useState(false)
  useEffect(() => {
    context.client.message(postId, { signal: context.ended }).then(setPost, (error: unknown) => {
      // It has expired.
      if (isCode(error, 'not_found')) boards.forgetHidden(boardId, postId)
      else setUnknown(true)
    })
  }, [postId])
  const author = post === undefined ? shortId(postId) : labelOf(people, post.envelope.from)
  return (
    <>
      <div class="hidden-post">
        {post === undefined ? (
          <p class="hint">
            <bdi class="code">{shortId(postId)}</bdi> {isUnknown ? texts.hiddenUnknown : strings.loading}
          </p>
        ) : (
          <>
            <AgentName who={post.envelope.from} /> <Time seconds={post.created_at} />
            <Beginning post={post} boardId={boardId} />
          </>
        )}
      </div>
      <BusyButton class="small" label={texts.restoreOf(author)} onPress={onRestore}>
        {texts.restore}
      </BusyButton>
    </>
  )
}

function Beginning({ post, boardId }: { post: Message; boardId: string }): JSX.Element {
  const opened = useOpened(post, `board:${boardId}`)
  const text = opened?.kind === 'open' ? excerptOf(textOf(opened.body)) : ''
  return (
    <p class="preview">
      <bdi>{text === '' ? shortId(post.envelope.id) : text}</bdi>
    </p>
  )
}

function RestoreById({ onRestore }: { onRestore: (postId: string) => Promise<void> }): JSX.Element {
  const [id, setId] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)

  async function restore(): Promise<void> {
    const wanted = id.trim()
    if (wanted === '') return setProblem(texts.noPostId)
    try {
      await onRestore(wanted)
      setId('')
      setProblem(undefined)
    } catch (error) {
      setProblem(isCode(error, 'not_found') ? texts.noPost : explain(error))
    }
  }

  return (
    <form
      class="inline-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void restore()
      }}
    >
      <Field label={texts.restoreById} value={id} onInput={setId} problem={problem} />
      <button type="submit">{texts.restore}</button>
    </form>
  )
}
