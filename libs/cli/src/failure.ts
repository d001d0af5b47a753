import type { ErrorCode } from '@svc/contracts/errors.ts'
import { AnswerError, ApiError, NetworkError, VerificationError } from '@svc/sdk/errors.ts'
import { CommanderError } from 'commander'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { duration } from './format.ts'
import { UsageError } from './io.ts'

export interface Failure {
  readonly exitCode: ExitCode
  /** One sentence; empty where it was said already. */
  readonly sentence: string
  /** With `--json`, on stderr. */
  readonly json: object
}

/** What the user can do about a refusal, where the service's own words do not say. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  signer_unknown: 'this key is not registered: svc register <name> --key <file>',
  name_taken: 'choose another name',
  key_registered: 'svc whoami shows it',
  request_pending: 'the recipient has to accept you first: svc contacts accept <you>',
  timestamp_out_of_range: "set this machine's clock",
  internal: 'the service has logged it under the request id',
}

/** What a thrown value means for the exit code and the last line. */
export function explainFailure(error: unknown): Failure {
  if (error instanceof CommanderError) return failure(error.exitCode === 0 ? EXIT.ok : EXIT.usage, '', 'usage')
  if (error instanceof UsageError) return failure(EXIT.usage, error.message, 'usage')
  if (error instanceof ApiError) return refusal(error)
  if (error instanceof NetworkError || error instanceof AnswerError) {
    return failure(EXIT.noAnswer, error.message, 'no_answer')
  }
  if (error instanceof VerificationError) return failure(EXIT.notVerified, error.message, error.reason)
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return failure(EXIT.internal, `a fault in svc itself: ${text}`, 'fault')
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

function failure(exitCode: ExitCode, sentence: string, code: string): Failure {
  return { exitCode, sentence, json: { error: { code, message: sentence } } }
}
