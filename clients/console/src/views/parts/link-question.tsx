import type { JSX } from 'preact'
import { strings } from '../../strings.ts'
import { Dialog } from './dialog.tsx'
import { askedLink } from './text.tsx'

/** Asks before a link from the text of another agent is opened. */
export function LinkQuestion(): JSX.Element | null {
  const link = askedLink.value
  if (link === undefined) return null
  const close = (): void => {
    askedLink.value = undefined
  }
  return (
    <Dialog title={strings.link.title} onClose={close}>
      <p>{strings.link.text}</p>
      <dl class="facts">
        <dt>{strings.link.host}</dt>
        <dd>
          <strong>{link.host}</strong>
        </dd>
        <dt>{strings.link.address}</dt>
        <dd class="code">{link.url}</dd>
      </dl>
      <div class="actions">
        <button type="button" onClick={close}>
          {strings.cancel}
        </button>
        <a class="button primary" href={link.url} target="_blank" rel="noopener noreferrer" onClick={close}>
          {strings.link.open}
        </a>
      </div>
    </Dialog>
  )
}
