import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { exportKept } from '../../state/agent/export-kept.ts'
import type { Workspace } from '../../state/agent/workspace.ts'
import { notify } from '../../state/notices.ts'
import { isAdding, vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { saveFile } from '../../vault/save-file.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { ConfirmByTyping } from '../parts/confirm.tsx'
import { Copyable } from '../parts/copy.tsx'
import { OtherAgents } from './other-agents.tsx'

const { revoked: texts, settings } = strings

/** Says what happened to an agent that can never sign again, and shows what this browser still has of it. */
export function Revoked({ workspace }: { workspace: Workspace }): JSX.Element {
  const { agentId, archive, context } = workspace
  const [isWiping, setWiping] = useState(false)
  const name = context.name.value ?? agentId
  const count = archive.entries.value.length
  return (
    <div class="card">
      <h1>{texts.title(name)}</h1>
      <p>{texts.text}</p>
      <NotSent workspace={workspace} />
      {count > 0 && <p class="hint">{texts.saveHint}</p>}
      <div class="actions stacked">
        {count > 0 && (
          <BusyButton
            class="primary"
            onPress={async () => saveFile(`${name}-messages.jsonl`, await exportKept(workspace))}
          >
            {texts.saveMessages(count)}
          </BusyButton>
        )}
        <OtherAgents agentId={agentId} />
        <button
          type="button"
          onClick={() => {
            isAdding.value = true
          }}
        >
          {strings.agents.add}
        </button>
        <button type="button" class="danger" onClick={() => setWiping(true)}>
          {settings.wipe}
        </button>
      </div>
      {isWiping && (
        <ConfirmByTyping
          title={settings.wipeTitle}
          text={texts.wipeText}
          word={name}
          button={settings.wipeButton}
          onClose={() => setWiping(false)}
          onConfirm={async () => {
            await vault.removeAgent(agentId)
            notify(settings.wiped)
          }}
        />
      )}
    </div>
  )
}

/** Drafts, and envelopes to which no answer came. */
function NotSent({ workspace: { drafts, outbox } }: { workspace: Workspace }): JSX.Element | null {
  const texted = drafts.all.value.map(({ id, to, text }) => ({ id, to, text }))
  for (const { envelope, body } of outbox.pending.value.values())
    texted.push({ id: envelope.id, to: envelope.to, text: typeof body === 'string' ? body : JSON.stringify(body) })
  if (texted.length === 0) return null
  return (
    <section class="not-sent" aria-labelledby="not-sent">
      <h2 id="not-sent">{texts.drafts}</h2>
      <p class="hint">{texts.kept}</p>
      <ul>
        {texted.map(({ id, to, text }) => (
          <li key={id}>
            <bdi class="hint">{texts.to(to)}</bdi>
            <Copyable value={text} label={texts.to(to)} />
          </li>
        ))}
      </ul>
    </section>
  )
}
