/** What an open agent needs, in one file of the build, which is loaded before it is needed (app/later.tsx). */
export { Workspace } from '../state/agent/workspace.ts'
export { Shell } from './shell.tsx'
