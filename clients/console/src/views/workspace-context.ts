import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Workspace } from '../state/agent/workspace.ts'

export const WorkspaceContext = createContext<Workspace | undefined>(undefined)

/** The agent that the page shows. Only views inside the shell may ask for it. */
export function useWorkspace(): Workspace {
  const workspace = useContext(WorkspaceContext)
  if (workspace === undefined) throw new Error('this view must be inside a workspace')
  return workspace
}
