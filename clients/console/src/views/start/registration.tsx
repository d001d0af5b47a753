import { isName } from '@svc/envelope/address.ts'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Workspace } from '../../state/agent/workspace.ts'
import { explain, isAbort } from '../../state/failures.ts'
import { nameFrom } from '../../state/names.ts'
import { notify } from '../../state/notices.ts'
import { wish as asked, type Wish } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { solveInWorker } from '../../work/work.ts'
import { Field, Switch } from '../parts/field.tsx'
import { OtherAgents } from './other-agents.tsx'

const { start } = strings

/** The name and whether the directory shows it. */
export function NameFields(properties: {
  value: Wish
  onInput: (value: Wish) => void
  isChecked: boolean
}): JSX.Element {
  const { value, onInput, isChecked } = properties
  return (
    <>
      <Field
        label={start.name}
        value={value.name}
        onInput={(name) => onInput({ ...value, name: nameFrom(name.trimStart()) })}
        hint={start.nameHint}
        problem={isChecked && !isName(value.name) ? start.nameWrong : undefined}
        hasFocus
        maxLength={32}
      />
      <Switch
        label={start.listed}
        hint={start.listedHint}
        isOn={value.isListed}
        onChange={(isListed) => onInput({ ...value, isListed })}
      />
    </>
  )
}

/** @param options.onPercent told the percent of the usual effort. */
async function registerAs(
  { name, isListed }: Wish,
  workspace: Workspace,
  { signal, onPercent }: { signal: AbortSignal; onPercent: (percent: number) => void },
): Promise<void> {
  const { client } = workspace.context
  await client.register(name, {
    async solve(challenge, difficulty, options) {
      const nonce = await solveInWorker(challenge, difficulty, options)
      onPercent(100)
      return nonce
    },
    signal,
    onProgress: ({ hashes, expectedHashes }) => onPercent(Math.floor((100 * hashes) / expectedHashes)),
  })
  if (isListed) await client.updateSettings({ discoverable: true })
  await workspace.registered(name)
}

/** Registers a key that the service does not know yet, at once if the person gave a name with it. */
export function Registration({ workspace }: { workspace: Workspace }): JSX.Element {
  const [given] = useState(asked.peek())
  const [wish, setWish] = useState<Wish>(given ?? { name: '', isListed: true })
  const [isChecked, setChecked] = useState(false)
  /** Percent of the usual effort, which a long proof of work exceeds. */
  const [progress, setProgress] = useState<number | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const stop = useRef<AbortController | undefined>(undefined)

  async function register(): Promise<void> {
    setChecked(true)
    if (!isName(wish.name) || stop.current !== undefined) return
    const control = new AbortController()
    stop.current = control
    setProblem(undefined)
    setProgress(0)
    try {
      await registerAs(wish, workspace, { signal: control.signal, onPercent: setProgress })
      notify(start.exportAdvice, 'advice')
    } catch (error) {
      if (!isAbort(error)) setProblem(explain(error))
    } finally {
      stop.current = undefined
      setProgress(undefined)
    }
  }

  useEffect(() => {
    asked.value = undefined
    if (given !== undefined) void register()
    return () => stop.current?.abort()
  }, [])

  return (
    <form
      class="card"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void register()
      }}
    >
      <h1>{start.registerTitle}</h1>
      {progress === undefined ? (
        <>
          <p class="lead">{start.registerLead}</p>
          <NameFields value={wish} onInput={setWish} isChecked={isChecked} />
        </>
      ) : (
        <div class="work" role="status">
          <p>{start.registering(wish.name)}</p>
          <progress aria-label={start.progress} value={progress} max={100} />
        </div>
      )}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="actions">
        {progress === undefined && <OtherAgents agentId={workspace.agentId} />}
        {progress === undefined ? (
          <button key="register" type="submit" class="primary">
            {start.registerButton}
          </button>
        ) : (
          // Its own `key` makes this a separate element. Without it, this button would turn into the submit button
          // during the click, and submit the form.
          <button
            key="cancel"
            type="button"
            onClick={() => stop.current?.abort(new DOMException('stopped', 'AbortError'))}
          >
            {strings.cancel}
          </button>
        )}
      </div>
    </form>
  )
}
