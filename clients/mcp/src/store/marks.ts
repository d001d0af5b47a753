import { join } from 'node:path'
import { createFile, readIfThere } from './files.ts'

/**
 * Agents, boards or names with a mark, for every process of a state folder.
 * - `approved`: agents and boards that the person at the client has approved. No tool adds one without the person's answer.
 * - `used`: names that this agent or its person has used. Other names are new to the model, so they are fenced.
 */
export class Marks {
  readonly #folder: string

  constructor(folder: string, kind: 'approved' | 'used') {
    this.#folder = join(folder, kind)
  }

  has(id: string): boolean {
    return readIfThere(join(this.#folder, id)) !== undefined
  }

  add(id: string): void {
    if (!this.has(id)) createFile(join(this.#folder, id), '')
  }
}
