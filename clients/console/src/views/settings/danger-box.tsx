import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { notify } from '../../state/notices.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { ConfirmByTyping } from '../parts/confirm.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { settings: texts } = strings

/** The actions that cannot be undone. */
export function DangerBox(): JSX.Element {
  const { agentId, context } = useWorkspace()
  const [asked, setAsked] = useState<'wipe' | 'revoke' | undefined>(undefined)
  const word = context.name.value ?? agentId
  const close = (): void => setAsked(undefined)
  return (
    <section class="box danger-box" aria-label={texts.danger}>
      <h2>{texts.danger}</h2>
      <div class="actions">
        <button type="button" onClick={() => setAsked('wipe')}>
          {texts.wipe}
        </button>
        <button type="button" class="danger" onClick={() => setAsked('revoke')}>
          {texts.revoke}
        </button>
      </div>
      {asked === 'wipe' && (
        <ConfirmByTyping
          title={texts.wipe}
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
          title={texts.revoke}
          text={texts.revokeText}
          word={word}
          button={texts.revokeButton}
          onClose={close}
          onConfirm={async () => {
            await context.client.revoke(agentId)
            notify(texts.revoked)
            location.reload()
          }}
        />
      )}
    </section>
  )
}
