import { join } from 'node:path'
import { BackupError } from '@svc/backup/backup-error.ts'
import type { ErrorCode } from '@svc/contracts/errors.ts'
import { AnswerError, ApiError, NetworkError, StoreError, VerificationError } from '@svc/sdk/errors.ts'
import { CommanderError } from 'commander'
import { OperatorNetworkError } from './admin/operator-network-error.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { stateFolder } from './files/places.ts'
import { type Io, UsageError } from './io.ts'
import { duration } from './output/format.ts'

/** It is unknown whether a message was accepted. */
export class UnknownOutcomeError extends Error {
  readonly messageId: string
  /** A command that finds it out, and sends the message if it was not accepted. */
  readonly repeat: string

  /** @param cause undefined: the user has interrupted svc. */
  constructor(messageId: string, repeat: string, cause: unknown) {
    super(`it is unknown whether the message ${messageId} was accepted; to send it safely again: ${repeat}`, { cause })
    this.messageId = messageId
    this.repeat = repeat
  }
}

/** An answer is missing that svc needs before it can send a message. */
export class NotSentError extends Error {
  constructor(cause: unknown) {
    super('nothing was sent', { cause })
  }
}

interface Failure {
  readonly exitCode: ExitCode
  /** One sentence. Empty if commander has printed the error already. */
  readonly sentence: string
  /** Printed on stderr with `--json`. */
  readonly json: { readonly error: { readonly code: string; readonly message: string } }
}

/** What the user can do about a refusal, if the service's message does not say it. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  signer_unknown: 'this key is not registered: svc register <name> --key <file>',
  signer_revoked: 'make another agent: svc init <name>',
  name_taken: 'choose another name',
  key_registered: 'svc whoami shows its name',
  request_pending: 'the recipient has to accept you first: svc contacts accept <you>',
  recipient_unavailable: 'check with svc lookup <name> that the agent exists',
  admission_denied: 'the recipient accepts messages only from its contacts, or from nobody',
  introduction_limit_reached:
    'wait for the next UTC day, or until a recipient accepts you; svc budget shows what is left',
  budget_exhausted: 'svc budget shows what is left',
  hard_limit_reached: 'svc budget shows what is left',
  timestamp_out_of_range: "set this machine's clock; svc doctor compares it with the service's",
  signature_invalid: 'svc doctor checks the authority and the clock',
  invalid_webhook_url:
    'the endpoint must be public HTTPS on port 443; for an endpoint on this machine: svc listen --forward <url>',
  stream_limit: 'two other listeners of this agent are running: stop one of them',
  not_found: 'check the id or the name, and that you use the right key (svc whoami)',
  internal: 'the service has logged the error under this request id',
}

const NO_ANSWER_HINT = 'check --url, and run svc doctor'

/** An unexpected error begins with this. */
export const BUG = 'this is a bug in svc:'

const INTERRUPTED = failure(EXIT.interrupted, 'interrupted', 'interrupted')

/** The exit code and the last line for a thrown value. */
export function explainFailure(error: unknown, env: Io['env'] = process.env): Failure {
  if (error instanceof UnknownOutcomeError) {
    const isInterrupted = error.cause === undefined
    const { exitCode, sentence, json } = isInterrupted ? INTERRUPTED : explainFailure(error.cause, env)
    const fields = { msg_id: error.messageId, repeat: error.repeat }
    return {
      exitCode: isInterrupted ? exitCode : EXIT.noAnswer,
      sentence: `${sentence}; ${error.message}`,
      json: { error: { ...json.error, ...fields } },
    }
  }
  if (error instanceof NotSentError) {
    const { exitCode, sentence, json } = explainFailure(error.cause, env)
    const message = `${json.error.message}; ${error.message}`
    return { exitCode, sentence: `${sentence}; ${error.message}`, json: { error: { ...json.error, message } } }
  }
  if (error instanceof CommanderError) return misuse(error)
  if (error instanceof UsageError || error instanceof StoreError) return failure(EXIT.usage, error.message, 'usage')
  if (error instanceof ApiError) return refusal(error)
  if (error instanceof BackupError) return failure(EXIT.refused, error.message, 'refused')
  if (error instanceof OperatorNetworkError) return failure(EXIT.noAnswer, error.message, 'no_answer')
  if (error instanceof NetworkError || error instanceof AnswerError) {
    const wait = error instanceof AnswerError ? error.retryAfterSeconds : undefined
    const hint = wait === undefined ? NO_ANSWER_HINT : `try again in ${duration(wait)}`
    return failure(EXIT.noAnswer, error.message, 'no_answer', hint)
  }
  if (error instanceof VerificationError) {
    const hint = `if the service was set up anew, or the pin is a mistake, remove the file pin/<name> of this agent in ${join(stateFolder(env), 'agents')}`
    const isPinned = error.reason === 'key_changed'
    return failure(EXIT.notVerified, error.message, error.reason, isPinned ? hint : undefined)
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return failure(EXIT.internal, `${BUG} ${text}`, 'fault')
}

/** A command line that commander refuses. For help and the version, the exit code is 0. */
function misuse({ exitCode, code, message }: CommanderError): Failure {
  const text = code === 'commander.help' ? 'no command: see svc help' : message.replace(/^error: /, '')
  return { ...failure(exitCode === 0 ? EXIT.ok : EXIT.usage, text, 'usage'), sentence: '' }
}

function refusal({ code, message, status, requestId, retryAfterSeconds }: ApiError): Failure {
  const hint = Object.hasOwn(HINTS, code) ? HINTS[code as ErrorCode] : undefined
  const parts = [
    `${message} (${code}${status >= 500 && requestId !== undefined ? `, request ${requestId}` : ''})`,
    ...(hint === undefined ? [] : [hint]),
    ...(retryAfterSeconds === undefined ? [] : [`try again in ${duration(retryAfterSeconds)}`]),
  ]
  const json = { code, message, status, request_id: requestId, retry_after_seconds: retryAfterSeconds }
  return { exitCode: EXIT.refused, sentence: parts.join('; '), json: { error: json } }
}

function failure(exitCode: ExitCode, message: string, code: string, hint?: string): Failure {
  const sentence = hint === undefined ? message : `${message}; ${hint}`
  return { exitCode, sentence, json: { error: { code, message } } }
}
