/** Temporary folders of a run, outside of its data folder: a program's user may not be able to enter that one. */
import { readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mark } from './marks.ts'

/** The names that a run may use, best first. */
export function scratchFolders(mark: Mark): string[] {
  return places().map((place) => join(place, `${prefixOf(mark)}${mark.run}`))
}

/** Removes the folders of this run, and those of dead runs of this stack. */
export function removeScratch(mark: Mark): void {
  for (const place of places()) {
    for (const name of readdirIfThere(place)) {
      if (name.startsWith(prefixOf(mark))) rmSync(join(place, name), { recursive: true, force: true })
    }
  }
}

function places(): string[] {
  return [...new Set([tmpdir(), '/tmp', '/var/tmp'])]
}

function prefixOf({ stack }: Mark): string {
  return `svc-${stack}-`
}

function readdirIfThere(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
