import { isName } from '@svc/envelope/address.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { explain } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { wish as asked, isAdding, showAgent, vault, type Wish } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { VaultError } from '../../vault/vault-error.ts'
import { ImportKey } from './import-key.tsx'
import { isUsable, NO_PASSPHRASE, PassphraseFields } from './passphrase.tsx'
import { useProblemFocus } from './problem-focus.ts'
import { NameFields } from './registration.tsx'

const { start } = strings

/**
 * A browser would leave the page and show the key file. A file that is dragged over the page asks for its import instead.
 * @param onFile called without a file while it is dragged, and with it when it is dropped.
 */
function useDraggedFile(onFile: (file: File | undefined) => void): void {
  useEffect(() => {
    const control = new AbortController()
    const { signal } = control
    const onDrag = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return
      event.preventDefault()
      onFile(event.type === 'drop' ? (event.dataTransfer.files.item(0) ?? undefined) : undefined)
    }
    addEventListener('dragover', onDrag, { signal })
    addEventListener('drop', onDrag, { signal })
    return () => control.abort()
  }, [])
}

/** The first page, and the page that adds a further agent: make a key, or bring one. */
export function AddAgent({ isFirst }: { isFirst: boolean }): JSX.Element {
  const [way, setWay] = useState<'create' | 'import'>('create')
  const [wish, setWish] = useState<Wish>({ name: '', isListed: true })
  const [keyFile, setKeyFile] = useState<string | undefined>(undefined)
  const [dropped, setDropped] = useState<File | undefined>(undefined)
  const [passphrase, setPassphrase] = useState(NO_PASSPHRASE)
  const [isChecked, setChecked] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [form, focusProblem] = useProblemFocus()
  const needsPassphrase = vault.state.value === 'none'

  async function add(): Promise<void> {
    setChecked(true)
    const isFilled = way === 'create' ? isName(wish.name) : keyFile !== undefined
    if (isBusy) return
    if (!isFilled || (needsPassphrase && !isUsable(passphrase))) {
      focusProblem()
      return
    }
    setBusy(true)
    setProblem(undefined)
    try {
      if (needsPassphrase) await vault.create(passphrase.first)
      asked.value = way === 'create' ? wish : undefined
      const agent = way === 'create' ? await vault.createAgent() : await vault.importAgent(keyFile ?? '')
      showAgent(agent.agentId)
    } catch (error) {
      // If another tab has made a vault meanwhile, the page asks for its passphrase instead.
      if (error instanceof VaultError && error.code === 'exists') notify(explain(error), 'failed')
      else setProblem(explain(error))
    } finally {
      setBusy(false)
    }
  }

  useDraggedFile((file) => {
    setWay('import')
    // A file that is dropped at once arrives before ImportKey is on the page, so it is kept here.
    if (file !== undefined) setDropped(file)
  })

  function choose(one: typeof way): void {
    setWay(one)
    setDropped(undefined)
    setKeyFile(undefined)
  }

  return (
    <form
      ref={form}
      class="card"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void add()
      }}
    >
      <h1>{isFirst ? start.title : start.another}</h1>
      <p class="lead">{start.lead}</p>
      <fieldset class="ways">
        <legend class="hidden-text">{start.another}</legend>
        {(['create', 'import'] as const).map((one) => (
          <label key={one} class={`way ${one === way ? 'on' : ''}`}>
            <input type="radio" name="way" checked={one === way} onChange={() => choose(one)} />
            {start[one]}
          </label>
        ))}
      </fieldset>
      {way === 'create' ? (
        <NameFields value={wish} onInput={setWish} isChecked={isChecked} />
      ) : (
        <ImportKey dropped={dropped} onKey={setKeyFile} />
      )}
      {needsPassphrase && <PassphraseFields value={passphrase} onInput={setPassphrase} isChecked={isChecked} />}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="actions">
        {!isFirst && (
          <button
            type="button"
            onClick={() => {
              isAdding.value = false
            }}
          >
            {start.back}
          </button>
        )}
        <button type="submit" class="primary" aria-busy={isBusy} disabled={way === 'import' && keyFile === undefined}>
          {isBusy && needsPassphrase ? start.protecting : way === 'create' ? start.createButton : start.importButton}
        </button>
      </div>
    </form>
  )
}
