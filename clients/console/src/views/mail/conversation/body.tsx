import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { JSX } from 'preact'
import type { Opened } from '../../../state/mail/opening.ts'
import { strings } from '../../../strings.ts'
import { ForeignText } from '../../parts/text.tsx'

/** The box of a text. Nothing inside it is the console's own, and nothing of the text can leave it. */
export function BodyBox({ opened, label }: { opened: Opened | undefined; label: string }): JSX.Element {
  if (opened === undefined) return <p class="hint">{strings.mail.opening}</p>
  if (opened.kind === 'elsewhere') return <p class="hint">{strings.mail.textElsewhere}</p>
  if (opened.kind === 'failed') {
    return <p class="problem">{strings.badges.refusals[opened.reason].hint}</p>
  }
  return <JsonOrText value={opened.body} label={label} />
}

function JsonOrText({ value, label }: { value: JsonValue; label: string }): JSX.Element {
  if (typeof value === 'string' && value.trim() === '') return <p class="hint">{strings.mail.emptyBody}</p>
  if (typeof value === 'string') {
    return (
      // biome-ignore lint/a11y/useSemanticElements: a group that is no form field
      <div class="body" role="group" aria-label={label}>
        <ForeignText text={value} />
      </div>
    )
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group that is no form field
    <div class="body json" role="group" aria-label={`${label}, ${strings.mail.bodyJson}`}>
      <ForeignText text={JSON.stringify(value, null, 2)} />
    </div>
  )
}
