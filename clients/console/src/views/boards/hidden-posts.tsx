import type { Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { shortId } from '../../state/agent/short-id.ts'
import { attempt } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Field } from '../parts/field.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings

/** Restores posts. The service does not list hidden posts, so this browser remembers which posts were hidden here. */
export function HiddenPosts(properties: { boardId: string; onRestore: (post: Message) => void }): JSX.Element {
  const { boardId, onRestore } = properties
  const { boards, context } = useWorkspace()
  const [id, setId] = useState('')
  const hidden = boards.marks.value.hidden[boardId] ?? []

  async function restore(postId: string): Promise<void> {
    await boards.setHidden(boardId, postId, false)
    onRestore(await context.client.message(postId, { signal: context.ended }))
    notify(texts.restored)
  }

  return (
    <details class="box">
      <summary>
        {texts.hiddenTitle}
        {hidden.length > 0 && <span class="count plain">{hidden.length}</span>}
      </summary>
      <p class="hint">{texts.hiddenHint}</p>
      <ul class="rows">
        {hidden.map((postId) => (
          <li key={postId}>
            <bdi class="code">{shortId(postId)}</bdi>
            <BusyButton class="small" label={`${texts.restore}: ${shortId(postId)}`} onPress={() => restore(postId)}>
              {texts.restore}
            </BusyButton>
          </li>
        ))}
      </ul>
      <form
        class="inline-form"
        noValidate
        onSubmit={async (event) => {
          event.preventDefault()
          if (id.trim() === '') return
          await attempt(() => restore(id.trim()))
          setId('')
        }}
      >
        <Field label={texts.restoreById} value={id} onInput={setId} />
        <button type="submit">{texts.restore}</button>
      </form>
    </details>
  )
}
