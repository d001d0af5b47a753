import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { notify } from '../../state/notices.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { ConfirmByTyping } from '../parts/confirm.tsx'
import { useWorkspace } from '../workspace-context.ts'
import { Row } from './row.tsx'

const { settings: texts } = strings

/** The actions that cannot be undone. */
export function DangerBox(): JSX.Element {
  const workspace = useWorkspace()
  const { agentId, context } = workspace
  const [asked, setAsked] = useState<'wipe' | 'revoke' | undefined>(undefined)
  const word = context.name.value ?? agentId
  const close = (): void => setAsked(undefined)
  return (
    <section class="box danger-box" aria-label={texts.danger}>
      <h2>{texts.danger}</h2>
      <Row label={texts.wipeLabel} hint={texts.wipeHint}>
        <button type="button" class="danger" onClick={() => setAsked('wipe')}>
          {texts.wipe}
        </button>
      </Row>
      <Row label={texts.revokeLabel} hint={texts.revokeHint}>
        <button type="button" class="danger" onClick={() => setAsked('revoke')}>
          {texts.revoke}
        </button>
      </Row>
      {asked === 'wipe' && (
        <ConfirmByTyping
          title={texts.wipeTitle}
          text={texts.wipeText}
          word={word}
          button={texts.wipeButton}
          onClose={close}
          onConfirm={async () => {
            await vault.removeAgent(agentId)
            notify(texts.wiped)
          }}
        />
      )}
      {asked === 'revoke' && (
        <ConfirmByTyping
          title={texts.revokeTitle}
          text={texts.revokeText}
          word={word}
          button={texts.revokeButton}
          onClose={close}
          onConfirm={async () => {
            await context.client.revoke(agentId)
            workspace.noteRevoked()
          }}
        />
      )}
    </section>
  )
}
