import { join } from 'node:path'
import { createFile, readIfThere } from './files.ts'

/** Agents and boards that the person at the client has approved. No tool adds one without the person's answer. */
export interface Approvals {
  has(agentId: string): boolean
  add(agentId: string): void
}

export function createApprovals(folder: string): Approvals {
  const pathOf = (agentId: string): string => join(folder, 'approved', agentId)
  return {
    has: (agentId) => readIfThere(pathOf(agentId)) !== undefined,
    add(agentId) {
      createFile(pathOf(agentId), '')
    },
  }
}
