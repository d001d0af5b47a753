import { isName } from '@svc/envelope/address.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Workspace } from '../../state/agent/workspace.ts'
import { explain, isAbort } from '../../state/failures.ts'
import { nameFrom } from '../../state/names.ts'
import { wish as asked, type Wish } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { solveInWorker } from '../../work/work.ts'
import { Field, Switch } from '../parts/field.tsx'
import { OtherAgents } from './other-agents.tsx'
import { useProblemFocus } from './problem-focus.ts'

const { start } = strings
const NAME_PROBLEMS = ['name_taken', 'invalid_name'] as const

/** The name and whether the directory shows it. */
export function NameFields(properties: {
  value: Wish
  onInput: (value: Wish) => void
  isChecked: boolean
  /** What the service says about the name. */
  problem?: string | undefined
}): JSX.Element {
  const { value, onInput, isChecked, problem } = properties
  return (
    <>
      <Field
        label={start.name}
        value={value.name}
        onInput={(name) => onInput({ ...value, name: nameFrom(name.trimStart()) })}
        hint={start.nameHint}
        problem={isChecked && !isName(value.name) ? start.nameWrong : problem}
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
  const [failure, setFailure] = useState<unknown>(undefined)
  const stop = useRef<AbortController | undefined>(undefined)
  const [form, focusProblem] = useProblemFocus()

  async function register(): Promise<void> {
    setChecked(true)
    if (!isName(wish.name)) focusProblem()
    if (!isName(wish.name) || stop.current !== undefined) return
    const control = new AbortController()
    stop.current = control
    setFailure(undefined)
    setProgress(0)
    try {
      await registerAs(wish, workspace, { signal: control.signal, onPercent: setProgress })
    } catch (error) {
      if (!isAbort(error)) setFailure(error)
    } finally {
      stop.current = undefined
      setProgress(undefined)
    }
  }

  const isOfName = NAME_PROBLEMS.some((code) => isCode(failure, code))

  useEffect(() => {
    asked.value = undefined
    if (given !== undefined) void register()
    return () => stop.current?.abort()
  }, [])

  return (
    <form
      ref={form}
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
          <NameFields
            value={wish}
            onInput={(value) => {
              setWish(value)
              if (value.name !== wish.name) setFailure(undefined)
            }}
            isChecked={isChecked}
            problem={isOfName ? explain(failure) : undefined}
          />
        </>
      ) : (
        <div class="work" role="status">
          <p>{start.registering(wish.name)}</p>
          <progress aria-label={start.progress} value={progress} max={100} />
        </div>
      )}
      {failure !== undefined && !isOfName && (
        <p class="problem" role="alert">
          {explain(failure)}
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
