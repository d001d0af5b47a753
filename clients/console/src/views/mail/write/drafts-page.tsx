import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { labelOf } from '../../../state/agent/people.ts'
import { inPassing } from '../../../state/failures.ts'
import type { Draft } from '../../../state/mail/drafts.ts'
import { excerptOf } from '../../../state/mail/excerpt.ts'
import { notify } from '../../../state/notices.ts'
import { goTo, hrefOf } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Empty } from '../../parts/empty.tsx'
import { ForeignTitle } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { placeOfDraft } from './draft-place.ts'

const { drafts: texts } = strings

/** Messages that were begun and not sent. */
export function DraftsPage(): JSX.Element {
  const { drafts } = useWorkspace()
  const heading = useRef<HTMLHeadingElement>(null)
  const all = drafts.all.value

  function discard(draft: Draft): void {
    drafts.discard(draft.id)
    notify(texts.discarded, 'done', { label: texts.undo, run: () => drafts.save(draft) })
    // The button that had the focus is gone.
    heading.current?.focus()
  }

  return (
    <div class="column">
      <h1 ref={heading} tabIndex={-1}>
        {strings.pages.drafts}
      </h1>
      {all.length === 0 && (
        <Empty title={texts.empty} hint={texts.emptyHint}>
          <button type="button" onClick={() => goTo('write')}>
            {strings.pages.write}
          </button>
        </Empty>
      )}
      <ul class="cards">
        {all.map((draft) => (
          <li key={draft.id} class="card-row draft">
            <DraftRow draft={draft} onDiscard={() => discard(draft)} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function DraftRow({ draft, onDiscard }: { draft: Draft; onDiscard: () => void }): JSX.Element {
  const { conversations, history, boards, people } = useWorkspace()
  const { to, text, changedAtMs } = draft
  // While the history is being read, the message that is answered may still come.
  const { kind, page, id } = placeOfDraft(
    draft,
    (messageId) => !history.progress.value.isComplete || conversations.withMessage(messageId) !== undefined,
  )
  const isPost = kind === 'post' || kind === 'postAnswer'
  const title = isPost ? boards.find(id)?.title : undefined
  const name = to === '' ? texts.nobody : (title ?? labelOf(people, to))
  useEffect(() => {
    if (isPost && title === undefined) inPassing(boards.read(id))
  }, [id])
  return (
    <>
      <a href={hrefOf(page, id)}>
        {texts.kinds[kind]} <ForeignTitle text={name} />
      </a>
      <span class="draft-time">
        <span class="hint">{texts.changed}</span> <Time seconds={changedAtMs / 1000} />
      </span>
      <p class="preview">
        <bdi>{excerptOf(text)}</bdi>
      </p>
      <button type="button" class="quiet small" aria-label={texts.discard(name)} onClick={onDiscard}>
        {strings.write.discard}
      </button>
    </>
  )
}
