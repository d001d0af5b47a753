import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { isAdding, vault, workspace } from '../state/session.ts'
import { strings } from '../strings.ts'
import { findMissing } from '../vault/environment.ts'
import { LinkQuestion } from '../views/parts/link-question.tsx'
import { Notices } from '../views/parts/notices.tsx'
import { AddAgent } from '../views/start/add-agent.tsx'
import { Opening } from '../views/start/opening.tsx'
import { Registration } from '../views/start/registration.tsx'
import { Revoked } from '../views/start/revoked.tsx'
import { StorageTrouble } from '../views/start/storage-trouble.tsx'
import { Unlock } from '../views/start/unlock.tsx'
import { WorkspaceContext } from '../views/workspace-context.ts'
import { Later, shell } from './later.tsx'

const missing = findMissing()

/** Decides which page to show: the missing requirements, the vault, the registration, or the agent. */
export function App(): JSX.Element {
  useEffect(() => {
    const note = (): void => vault.noteActivity()
    const control = new AbortController()
    for (const type of ['pointerdown', 'keydown', 'wheel'])
      addEventListener(type, note, { passive: true, signal: control.signal })
    return () => control.abort()
  }, [])
  const shown = workspace.value
  const Shell = shell.value
  const isOpen =
    Shell !== undefined &&
    vault.state.value === 'unlocked' &&
    shown !== undefined &&
    !isAdding.value &&
    shown.state.value === 'ready'
  return (
    <>
      {isOpen ? (
        <WorkspaceContext.Provider value={shown}>
          <Shell key={shown.agentId} />
        </WorkspaceContext.Provider>
      ) : (
        <main class="start">
          <p class="brand">{strings.product}</p>
          <StorageTrouble />
          <Start />
        </main>
      )}
      <LinkQuestion />
      <Notices />
    </>
  )
}

function Start(): JSX.Element | null {
  if (missing.length > 0) return <Insecure />
  const state = vault.state.value
  if (state === 'opening') return <p role="status">{strings.loading}</p>
  if (state === 'failed') return vault.trouble.value === undefined ? <NoStorage /> : null
  if (state === 'locked') return <Unlock />
  if (state === 'none' || vault.agents.value.length === 0) return <AddAgent isFirst />
  const shown = workspace.value
  if (isAdding.value) return <AddAgent isFirst={false} />
  if (shown === undefined) return <Later />
  if (shown.state.value === 'unregistered') {
    return <Registration key={shown.agentId} workspace={shown} />
  }
  if (shown.state.value === 'revoked') return <Revoked key={shown.agentId} workspace={shown} />
  return <Opening workspace={shown} />
}

function NoStorage(): JSX.Element {
  return (
    <div class="card">
      <h1>{strings.noStorage.title}</h1>
      <p>{strings.noStorage.text}</p>
    </div>
  )
}

function Insecure(): JSX.Element {
  return (
    <div class="card">
      <h1>{strings.insecure.title}</h1>
      <p>{strings.insecure.text}</p>
      <p class="hint">{strings.insecure.missing(missing.join(', '))}</p>
    </div>
  )
}
