/** The code of an open agent, in one file of the build. app/later.tsx loads it in advance. */
export { Workspace } from '../state/agent/workspace.ts'
export { Shell } from './shell.tsx'
