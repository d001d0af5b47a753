import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { exportMessages } from '../../state/agent/export.ts'
import { explain, isAbort } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { saveFile } from '../../vault/save-file.ts'
import { SaveKey } from '../start/save-key.tsx'
import { useWorkspace } from '../workspace-context.ts'
import { Row } from './row.tsx'

const { settings: texts } = strings

/** Copies of the key and of the messages. */
export function DataBox(): JSX.Element {
  return (
    <section class="box" aria-label={texts.keys}>
      <h2>{texts.keys}</h2>
      <KeyCopy />
      <MessageExport />
    </section>
  )
}

function KeyCopy(): JSX.Element {
  const { agentId, context } = useWorkspace()
  const [isSaving, setSaving] = useState(false)
  const isSaved = vault.agents.value.find((agent) => agent.agentId === agentId)?.isSaved === true
  return (
    <Row label={texts.keyCopy} hint={isSaved ? texts.keySaved : texts.keyNotSaved}>
      <button type="button" onClick={() => setSaving(true)}>
        {texts.exportKey}
      </button>
      {isSaving && <SaveKey agentId={agentId} name={context.name.value} onClose={() => setSaving(false)} />}
    </Row>
  )
}

/** The number of messages is not known before the end, so the progress is a count. */
function MessageExport(): JSX.Element {
  const workspace = useWorkspace()
  const [count, setCount] = useState<number | undefined>(undefined)
  const stop = useRef<AbortController | undefined>(undefined)

  async function run(): Promise<void> {
    const control = new AbortController()
    stop.current = control
    setCount(0)
    try {
      const text = await exportMessages(workspace, { signal: control.signal, onProgress: setCount })
      saveFile(`${workspace.context.name.value ?? workspace.agentId}-messages.jsonl`, text)
    } catch (error) {
      if (!isAbort(error)) notify(explain(error), 'failed')
    } finally {
      stop.current = undefined
      setCount(undefined)
    }
  }

  return (
    <Row label={texts.messagesCopy} hint={count === undefined ? texts.exportMessagesHint : texts.exported(count)}>
      {count === undefined ? (
        <button key="run" type="button" onClick={() => void run()}>
          {texts.exportMessages}
        </button>
      ) : (
        <button key="stop" type="button" onClick={() => stop.current?.abort(new DOMException('stopped', 'AbortError'))}>
          {strings.cancel}
        </button>
      )}
    </Row>
  )
}
