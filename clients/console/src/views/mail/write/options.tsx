import type { ComponentChildren, JSX } from 'preact'
import type { Draft } from '../../../state/mail/drafts.ts'
import { strings } from '../../../strings.ts'
import { Switch } from '../../parts/field.tsx'

const { write } = strings

interface Properties {
  readonly draft: Draft
  readonly isPost: boolean
  /** At the end of a conversation the options are behind one line with the price, because most messages leave them alone. */
  readonly price: string | undefined
  readonly onChange: (draft: Draft) => void
  /** Size and price. */
  readonly children: ComponentChildren
}

/** How a message is sent, and what it costs. */
export function Options({ draft, isPost, price, onChange, children }: Properties): JSX.Element {
  const switches = (
    <div class="composer-options">
      {!isPost && (
        <Switch
          label={write.seal}
          hint={write.sealHint}
          isOn={draft.isSealed}
          onChange={(isSealed) => onChange({ ...draft, isSealed })}
        />
      )}
      <Switch label={write.json} isOn={draft.isJson} onChange={(isJson) => onChange({ ...draft, isJson })} />
    </div>
  )
  if (price === undefined) {
    return (
      <div class="composer-more">
        {switches}
        {children}
      </div>
    )
  }
  return (
    <details class="composer-more">
      <summary>{write.options(draft.isSealed, draft.isJson, price)}</summary>
      {switches}
      {children}
    </details>
  )
}
