/** The vault of this browser, and the agents that this tab has open. */
import { computed, effect, signal } from '@preact/signals'
import { Vault } from '../vault/vault.ts'
import { deriveInWorker } from '../work/work.ts'
import type { Workspace } from './agent/workspace.ts'
import { dismiss } from './notices.ts'
import { goTo } from './route.ts'

/** Each tab remembers its own agent, so that two windows can show two agents. An agent id is not secret. */
const SHOWN = 'agent'

export const vault = new Vault(deriveInWorker)
const shownId = signal<string | undefined>(sessionStorage.getItem(SHOWN) ?? undefined)
const workspaces = signal<ReadonlyMap<string, Workspace>>(new Map())
/** The code of an open agent. Undefined until it is loaded (app/later.tsx). */
export const workspaceClass = signal<typeof Workspace | undefined>(undefined)
/** Whether the person asked for the page that adds an agent. */
export const isAdding = signal(false)

/** Agents whose owner was reminded to save the key, and chose to do it later. */
export const remindedOf = signal<ReadonlySet<string>>(new Set())

/** The registration that the person asked for together with a new key. */
export interface Wish {
  readonly name: string
  /** Whether the directory shows the name. */
  readonly isListed: boolean
}
/** Set before a key is made, and taken by its registration. */
export const wish = signal<Wish | undefined>(undefined)

/** The agent that is shown. Undefined while the vault is locked or empty. */
export const workspace = computed(() => (shownId.value === undefined ? undefined : workspaces.value.get(shownId.value)))

export function showAgent(agentId: string): void {
  // The address names a page, and perhaps a message, of the previous agent.
  if (shownId.peek() !== undefined && shownId.peek() !== agentId) goTo('inbox')
  shownId.value = agentId
  sessionStorage.setItem(SHOWN, agentId)
  isAdding.value = false
}

export function findWorkspace(agentId: string): Workspace | undefined {
  return workspaces.value.get(agentId)
}

/** Opens the shown agent when the vault is unlocked, and closes all when it is locked. */
export function followVault(): void {
  effect(() => {
    const [state, agents] = [vault.state.value, vault.agents.value]
    const shown = agents.find(({ agentId }) => agentId === shownId.value) ?? agents[0]
    const open = workspaces.peek()
    if (state === 'locked') dismiss()
    if (state !== 'unlocked') {
      remindedOf.value = new Set()
      for (const one of open.values()) one.close()
      if (open.size > 0) workspaces.value = new Map()
      return
    }
    const kept = new Map([...open].filter(([agentId]) => agents.some((agent) => agent.agentId === agentId)))
    for (const [agentId, one] of open) if (!kept.has(agentId)) one.close()
    const Code = workspaceClass.value
    if (shown !== undefined && Code !== undefined && !kept.has(shown.agentId)) {
      const opened = new Code(vault, shown)
      kept.set(shown.agentId, opened)
      void opened.open({ isNew: wish.peek() !== undefined && shown.name === undefined })
    }
    if (shown !== undefined && shown.agentId !== shownId.peek()) showAgent(shown.agentId)
    if (kept.size !== open.size || [...kept.keys()].some((id) => !open.has(id))) workspaces.value = kept
  })
}
