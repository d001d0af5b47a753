import { existsSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const ATTEMPTS = 50
const PAUSE_MS = 100

/**
 * Removes a folder with all in it, also where something still writes there, as an initdb does whose launcher was killed:
 * it fails as soon as it finds its folder gone.
 */
export async function removeFolder(folder: string): Promise<void> {
  for (let attempt = 1; existsSync(folder); attempt += 1) {
    if (attempt > 1) await sleep(PAUSE_MS)
    try {
      // With `force` it may also give up without an error when somebody adds a file.
      rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      if (attempt >= ATTEMPTS) throw error
    }
    if (attempt >= ATTEMPTS) return
  }
}
