/** Tells a person about an error: what is wrong and what to do. */
import { AnswerError, ApiError, isCode, NetworkError, VerificationError } from '@svc/sdk/errors.ts'
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
  if (error instanceof VerificationError) return sentence(error.message)
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

/** For what only adds to a page, such as a name. Says only what a person must know: that a key has changed. */
export function inPassing(task: Promise<unknown>): void {
  task.catch((error: unknown) => {
    if (error instanceof VerificationError) report(error)
  })
}

/** Explains an error of a call that names an agent. */
export function explainFor(name: string, error: unknown): string {
  const isUnknown = isCode(error, 'not_found') || isCode(error, 'recipient_unavailable')
  return isUnknown ? strings.write.noRecipient(name) : explain(error)
}

/** For these the page itself says what is wrong: it asks for the passphrase, or has a banner about its storage. */
const SAID: readonly string[] = ['locked', 'newer_console', 'cleared', 'replaced', 'storage_full']

function report(error: unknown): void {
  const isSaid = error instanceof VaultError && SAID.includes(error.code)
  if (!isAbort(error) && !isSaid) notify(explain(error), 'failed')
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
