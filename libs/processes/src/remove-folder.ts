import { existsSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const ATTEMPTS = 50
const PAUSE_MS = 100

/**
 * Removes a folder with its content, even while a process still writes to it. For example, an initdb whose launcher was
 * killed keeps writing until it finds that its folder is gone.
 */
export async function removeFolder(folder: string): Promise<void> {
  for (let attempt = 1; existsSync(folder); attempt += 1) {
    if (attempt > 1) await sleep(PAUSE_MS)
    try {
      // Even with `force`, this may stop without an error if a process adds a file.
      rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      if (attempt >= ATTEMPTS) throw error
    }
    if (attempt >= ATTEMPTS) return
  }
}
