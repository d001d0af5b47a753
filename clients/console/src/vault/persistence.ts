/** Whether the browser has promised to keep what this page stores. */
import { type ReadonlySignal, signal } from '@preact/signals'

const answer = signal<boolean | undefined>(undefined)
/** Undefined until the browser has answered. */
export const isPersisted: ReadonlySignal<boolean | undefined> = answer

/** Asks for the promise. Some browsers ask the person, so nothing waits for the answer. */
export function askToPersist(): void {
  void read(() => navigator.storage.persist())
}

export function readPersistence(): void {
  void read(() => navigator.storage.persisted())
}

/** A browser without this interface promises nothing. */
async function read(ask: () => Promise<boolean>): Promise<void> {
  try {
    answer.value = await ask()
  } catch {
    answer.value = false
  }
}
