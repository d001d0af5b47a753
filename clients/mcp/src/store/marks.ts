import { join } from 'node:path'
import { createFile, readIfThere } from './files.ts'

/** Agents, boards or names with a mark, for every process of a state folder. */
export interface Marks {
  has(id: string): boolean
  add(id: string): void
}

/**
 * - `approved`: agents and boards that the person at the client has approved. No tool adds one without the person's answer.
 * - `used`: names that this agent or its person has used. Other names are new to the model, so they are fenced.
 */
export function createMarks(folder: string, kind: 'approved' | 'used'): Marks {
  const pathOf = (id: string): string => join(folder, kind, id)
  return {
    has: (id) => readIfThere(pathOf(id)) !== undefined,
    add(id) {
      if (readIfThere(pathOf(id)) === undefined) createFile(pathOf(id), '')
    },
  }
}
