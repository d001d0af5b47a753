/** Tells a person about an error: what is wrong and what to do. */
import { AnswerError, ApiError, NetworkError } from '@svc/sdk/errors.ts'
import { strings } from '../strings.ts'
import { VaultError } from '../vault/vault-error.ts'
import { notify } from './notices.ts'

export function explain(error: unknown): string {
  if (error instanceof ApiError) {
    const known = (strings.errors as Record<string, string>)[error.code]
    return known ?? strings.errorOther(error.message, error.code)
  }
  if (error instanceof VaultError) return strings.vaultErrors[error.code]
  if (error instanceof NetworkError) return strings.errorNetwork
  if (error instanceof AnswerError) return strings.errorAnswer
  if (error instanceof TypeError || error instanceof RangeError) return sentence(error.message)
  return strings.errorUnexpected
}

/** Runs a task of the user interface. Failures become a notice; an aborted task is silent. */
export async function attempt<T>(task: () => Promise<T>): Promise<T | undefined> {
  try {
    return await task()
  } catch (error) {
    report(error)
    return undefined
  }
}

/** For a change that nobody waits for, such as storing a draft. */
export function inBackground(change: Promise<unknown>): void {
  change.catch(report)
}

/** Shows a notice, unless the task failed because the vault was locked meanwhile. Then the page asks for the passphrase. */
function report(error: unknown): void {
  const isLocked = error instanceof VaultError && error.code === 'locked'
  if (!isAbort(error) && !isLocked) notify(explain(error), 'failed')
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.code === code
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
