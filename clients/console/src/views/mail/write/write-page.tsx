import type { JSX } from 'preact'
import { goTo, route } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { useWorkspace } from '../../workspace-context.ts'
import { Composer } from './composer.tsx'

/** A new message, a draft to go on with, or a message to somebody: `#/write/<draft id or name>`. */
export function WritePage(): JSX.Element {
  const { drafts } = useWorkspace()
  const { id } = route.value
  const draft = id === undefined ? undefined : drafts.find(id)
  return (
    <div class="column">
      <h1>{strings.pages.write}</h1>
      <Composer
        key={id}
        draft={draft}
        fields={id === undefined || draft !== undefined ? {} : { to: id }}
        onDone={(messageId) => goTo('inbox', messageId)}
        onDiscard={() => goTo('inbox')}
      />
    </div>
  )
}
