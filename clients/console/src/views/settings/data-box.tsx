import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { exportMessages } from '../../state/agent/export.ts'
import { explain, isAbort } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { saveFile } from '../../vault/save-file.ts'
import { Dialog } from '../parts/dialog.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { settings: texts } = strings

/** Copies of the key and of the messages. */
export function DataBox(): JSX.Element {
  const [isExportingKey, setExportingKey] = useState(false)
  return (
    <section class="box" aria-label={texts.keys}>
      <h2>{texts.keys}</h2>
      <div class="actions">
        <button type="button" onClick={() => setExportingKey(true)}>
          {texts.exportKey}
        </button>
      </div>
      <MessageExport />
      {isExportingKey && <KeyExport onClose={() => setExportingKey(false)} />}
    </section>
  )
}

function KeyExport({ onClose }: { onClose: () => void }): JSX.Element {
  const { agentId, context } = useWorkspace()
  return (
    <Dialog title={texts.exportKey} onClose={onClose}>
      <p>{texts.exportKeyText}</p>
      <div class="actions">
        <button type="button" onClick={onClose}>
          {strings.cancel}
        </button>
        <button
          type="button"
          class="primary"
          onClick={() => {
            saveFile(`${context.name.value ?? agentId}.key`, vault.exportAgent(agentId))
            notify(texts.keyExported)
            onClose()
          }}
        >
          {texts.exportKeyButton}
        </button>
      </div>
    </Dialog>
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
    <>
      <p class="hint">{texts.exportMessagesHint}</p>
      <div class="actions">
        {count === undefined ? (
          <button type="button" onClick={() => void run()}>
            {texts.exportMessages}
          </button>
        ) : (
          <>
            <span role="status">{texts.exported(count)}</span>
            <button type="button" onClick={() => stop.current?.abort(new DOMException('stopped', 'AbortError'))}>
              {strings.cancel}
            </button>
          </>
        )}
      </div>
    </>
  )
}
