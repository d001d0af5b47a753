/** Loads the code of an open agent, the code for sealing and the worker in advance, so that an outage stops no page. */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { FunctionComponent, JSX } from 'preact'
import { idle, pauseOf } from '../state/mail/pause.ts'
import { workspaceClass } from '../state/session.ts'
import { strings } from '../strings.ts'
import { addressIn, Loading, type Part } from './loading.ts'

const { health: words } = strings
const loaded = signal<FunctionComponent | undefined>(undefined)
/** The frame around the pages of an open agent. Undefined until it is loaded. */
export const shell: ReadonlySignal<FunctionComponent | undefined> = loaded

const importAgent = () => import('./agent-code.ts')
/** The SDK imports the same file when it first seals or opens a message. */
const importSealing = () => import('@svc/envelope/seal.ts')

const loading = new Loading({
  parts: [
    partOf(importAgent, ({ Shell, Workspace }) => {
      loaded.value = Shell
      workspaceClass.value = Workspace
    }),
    partOf(importSealing),
    { address: WORKER_URL },
  ],
  fetch: (...request) => fetch(...request),
  pause: pauseOf,
})

/** Begins to load when the browser has nothing else to do. */
export async function loadLater(): Promise<void> {
  await idle()
  await loading.start()
}

/** Says how the loading goes, for a page that needs it. */
export function Later(): JSX.Element {
  const state = loading.state.value
  if (state === 'loading' || state === 'loaded')
    return (
      <p class="loading" role="status">
        {strings.loading}
      </p>
    )
  return (
    <div class="banner warn" role="status">
      <p>{state === 'outdated' ? words.outdated : words.notLoaded}</p>
      <div class="actions">
        <button type="button" onClick={() => void loading.start()}>
          {strings.retry}
        </button>
        {state === 'outdated' && (
          <button type="button" class="primary" onClick={() => location.reload()}>
            {words.reload}
          </button>
        )}
      </div>
    </div>
  )
}

function partOf<Module>(load: () => Promise<Module>, take?: (module: Module) => void): Part {
  return { address: addressIn(load, import.meta.url), load: async () => take?.(await load()) }
}
