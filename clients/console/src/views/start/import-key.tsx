import { parseKey } from '@svc/sdk/keys.ts'
import type { JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { shortId } from '../../state/agent/short-id.ts'
import { strings } from '../../strings.ts'
import { Icon } from '../parts/icon.tsx'

const { start } = strings
/** A key file has some 200 bytes. */
const MAX_BYTES = 10_000

interface ImportKeyProps {
  /** The last file that was dropped on the page. */
  readonly dropped: File | undefined
  readonly onKey: (text: string | undefined) => void
}

/** Takes a key file that was dropped on the page, or is chosen in the file picker. The key is never shown. */
export function ImportKey({ dropped, onKey }: ImportKeyProps): JSX.Element {
  const [agentId, setAgentId] = useState<string | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isOver, setOver] = useState(false)
  const id = useId()

  async function take(file: File | null | undefined): Promise<void> {
    if (file === null || file === undefined) return
    onKey(undefined)
    setAgentId(undefined)
    try {
      if (file.size > MAX_BYTES) throw new TypeError('too large')
      const text = await file.text()
      setAgentId(parseKey(text).agentId)
      setProblem(undefined)
      onKey(text)
    } catch {
      setProblem(start.notAKey)
    }
  }

  useEffect(() => void take(dropped), [dropped])
  useEffect(() => {
    const control = new AbortController()
    const { signal } = control
    addEventListener('dragover', () => setOver(true), { signal })
    // Without `relatedTarget` the file has left the page.
    addEventListener('dragleave', ({ relatedTarget }) => setOver(relatedTarget !== null), { signal })
    addEventListener('drop', () => setOver(false), { signal })
    return () => control.abort()
  }, [])

  return (
    <div class={`drop ${isOver ? 'over' : ''}`}>
      <Icon name="key" />
      <p>{start.drop}</p>
      <input
        id={id}
        class="hidden-text"
        type="file"
        accept=".key,.json,application/json"
        aria-describedby={`${id}-state`}
        onChange={(event) => void take(event.currentTarget.files?.item(0))}
      />
      <label for={id} class="button">
        {start.choose}
      </label>
      <p id={`${id}-state`} class={problem === undefined ? 'hint' : 'problem'} aria-live="polite">
        {problem ?? (agentId === undefined ? start.dropHint : `${start.imported} ${shortId(agentId)}`)}
      </p>
    </div>
  )
}
