import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { remindedOf, vault, workspace } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { isPersisted, readPersistence } from '../../vault/persistence.ts'
import { SaveKey } from './save-key.tsx'

const { keyReminder: texts, settings, start } = strings

/** Says that the key of the shown agent has no copy, until one was saved. */
export function KeyReminder(): JSX.Element | null {
  const [isSaving, setSaving] = useState(false)
  useEffect(readPersistence, [])
  const agentId = workspace.value?.agentId
  const agent = vault.agents.value.find((one) => one.agentId === agentId)
  if (agent === undefined || agent.isSaved || remindedOf.value.has(agent.agentId)) return null
  return (
    <section class="banner warn" aria-label={texts.label}>
      <p>
        {texts.text(agent.name ?? start.unnamed)} {isPersisted.value === true ? texts.promised : texts.mayDelete}
      </p>
      <div class="actions">
        <button type="button" onClick={() => setSaving(true)}>
          {settings.exportKey}
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            remindedOf.value = new Set(remindedOf.value).add(agent.agentId)
          }}
        >
          {texts.later}
        </button>
      </div>
      {isSaving && <SaveKey agentId={agent.agentId} name={agent.name} onClose={() => setSaving(false)} />}
    </section>
  )
}
