import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { notify } from '../../state/notices.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import type { KeptAgent } from '../../vault/keyring.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { ConfirmByTyping } from '../parts/confirm.tsx'
import { SaveKey } from './save-key.tsx'

const { storage: texts } = strings

/** Says what keeps the page from storing what it should, and offers what helps. */
export function StorageTrouble(): JSX.Element | null {
  const trouble = vault.trouble.value
  const kind = trouble?.kind
  const isOnlyHere = kind === 'cleared' || kind === 'replaced' || trouble?.outlivesReload === false
  useEffect(() => {
    if (!isOnlyHere) return
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isOnlyHere])
  if (trouble === undefined || kind === undefined) return null
  const isLocked = vault.state.value !== 'unlocked'
  const text = kind === 'cleared' && isLocked ? texts.texts.clearedLocked : texts.texts[kind]
  const mustCopy = !trouble.outlivesReload && kind !== 'cleared' && kind !== 'replaced'
  return (
    <section class="banner bad" role="alert" aria-label={texts.label}>
      <p>{mustCopy ? `${text} ${texts.notKept}` : text}</p>
      <div class="actions">
        {kind === 'newer' && (
          <button type="button" class="primary" onClick={() => location.reload()}>
            {texts.reload}
          </button>
        )}
        {kind === 'cleared' && <StoreAgain label={texts.again} done={texts.storedAgain} isDisabled={isLocked} />}
        {(kind === 'full' || kind === 'failed') && <StoreAgain label={strings.retry} done={texts.retried} />}
        {(kind === 'cleared' || kind === 'replaced') && vault.agents.value.map((agent) => <SaveFile agent={agent} />)}
        {(kind === 'cleared' || kind === 'replaced') && <Forget />}
      </div>
    </section>
  )
}

function StoreAgain(properties: { label: string; done: string; isDisabled?: boolean }): JSX.Element | null {
  if (properties.isDisabled === true) return null
  return (
    <BusyButton
      class="primary"
      onPress={async () => {
        await vault.storeAgain()
        notify(properties.done)
      }}
    >
      {properties.label}
    </BusyButton>
  )
}

function SaveFile({ agent: { agentId, name } }: { agent: KeptAgent }): JSX.Element {
  const [isSaving, setSaving] = useState(false)
  const isOnly = vault.agents.value.length === 1
  return (
    <>
      <button type="button" onClick={() => setSaving(true)}>
        {isOnly ? strings.settings.exportKey : strings.saveKey.of(name ?? strings.start.unnamed)}
      </button>
      {isSaving && <SaveKey agentId={agentId} name={name} onClose={() => setSaving(false)} />}
    </>
  )
}

function Forget(): JSX.Element {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        {texts.forget}
      </button>
      {isAsking && (
        <ConfirmByTyping
          title={texts.forgetTitle}
          text={texts.forgetText}
          word={texts.forgetWord}
          button={texts.forget}
          onConfirm={() => vault.forget()}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}
