import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Person } from '../../../state/agent/people.ts'
import { explain } from '../../../state/failures.ts'
import { nameFrom } from '../../../state/names.ts'
import { notify } from '../../../state/notices.ts'
import { strings } from '../../../strings.ts'
import { BusyButton } from '../../parts/busy-button.tsx'
import { Copyable } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { useWorkspace } from '../../workspace-context.ts'

const { identify } = strings
const KEY_PREFIX = 'ed25519:'

/** Asks whose message it is, because the service has no name for an id. */
export function Identify({ agentId }: { agentId: string }): JSX.Element {
  const { people } = useWorkspace()
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)

  async function check(): Promise<void> {
    const wanted = text.trim()
    if (wanted === '' || isBusy) return
    setBusy(true)
    try {
      const found = wanted.startsWith(KEY_PREFIX)
        ? await people.pin(wanted)
        : (await people.lookUp(nameFrom(wanted))).agentId
      setProblem(found === agentId ? undefined : identify.other(wanted))
    } catch (error) {
      setProblem(explain(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <details class="identify">
      <summary>{identify.title}</summary>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void check()
        }}
      >
        <p class="hint">{identify.text}</p>
        <Field label={identify.field} value={text} onInput={setText} problem={problem} />
        <button type="submit" aria-busy={isBusy}>
          {identify.check}
        </button>
      </form>
    </details>
  )
}

/** Pins the key of an agent after a comparison outside the service, or takes the pin away. */
export function PinKey({ person }: { person: Person }): JSX.Element {
  const { people } = useWorkspace()
  const [isOpen, setOpen] = useState(false)
  const { agentId, pubkey, name, source } = person
  if (source === 'pinned') {
    return (
      <BusyButton class="quiet" onPress={() => people.unpin(agentId)}>
        {identify.unpin}
      </BusyButton>
    )
  }
  return (
    <>
      <button type="button" class="quiet" onClick={() => setOpen(true)}>
        {identify.pin}
      </button>
      {isOpen && (
        <Dialog title={identify.pinTitle} onClose={() => setOpen(false)}>
          <p>{identify.pinText}</p>
          <dl class="facts">
            <dt>{identify.pinKey}</dt>
            <dd>
              <Copyable value={pubkey} label={identify.pinKey} />
            </dd>
          </dl>
          <div class="actions">
            <button type="button" onClick={() => setOpen(false)}>
              {strings.cancel}
            </button>
            <BusyButton
              class="primary"
              onPress={async () => {
                await people.pin(pubkey, name)
                notify(identify.pinned)
                setOpen(false)
              }}
            >
              {identify.pinButton}
            </BusyButton>
          </div>
        </Dialog>
      )}
    </>
  )
}
