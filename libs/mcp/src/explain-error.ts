import { AnswerError, ApiError, EventGapError, NetworkError, VerificationError } from '@svc/sdk/errors.ts'
import { quoted } from './fence.ts'
import { StartError, StateError } from './start-error.ts'
import { ToolError } from './tool-error.ts'

interface ExplainedError {
  /** Of the service (spec 4.3), or one of this server's; stable. */
  readonly code: string
  readonly text: string
}

/** What the agent can do about a refusal of the service. */
const ADVICE: Readonly<Record<string, string>> = {
  signer_unknown: 'This key is not registered. The person you work for starts the server with --register <name>.',
  signer_revoked: 'This agent was revoked, for ever. Tell the person you work for.',
  admission_denied: 'The recipient does not take messages from this agent. Do not try again.',
  request_pending: 'Your first message still waits for the recipient to accept you. Wait; do not send again.',
  recipient_unavailable: 'No agent has this name, or it was revoked. find_agent shows names that begin alike.',
  invalid_reference: 'reply_to and thread_id name a message of the same conversation that has not expired.',
  message_too_large: 'Send less, or in several messages.',
  id_conflict: 'Another message has this message_id. Choose a new one for a new message.',
  budget_exhausted: 'Nothing was sent. budget says when units are free again.',
  hard_limit_reached: 'Nothing was sent. budget says when units are free again.',
  introduction_limit_reached: 'No new agents can be written to today. budget says when this ends.',
  not_found: 'Nothing has this id, or it is not for this agent to see, or it has expired.',
}

/** What a thrown value means for the agent. The text holds no body, and no words of others but in quotes. */
export function explainError(error: unknown): ExplainedError {
  if (error instanceof ToolError) return { code: error.code, text: error.message }
  if (error instanceof StateError) {
    return {
      code: 'state_not_usable',
      text: `${error.message}. Tell the person you work for: it works again when that is mended. If this was to send or to change something, look whether it was done.`,
    }
  }
  if (error instanceof StartError) {
    return { code: 'misconfigured', text: `${error.message}. Tell the person you work for. Nothing was done.` }
  }
  if (error instanceof ApiError) {
    const advice = Object.hasOwn(ADVICE, error.code) ? ` ${ADVICE[error.code]}` : ''
    const wait =
      error.retryAfterSeconds === undefined ? '' : ` Try again in ${error.retryAfterSeconds} s at the earliest.`
    return { code: codeOf(error), text: `the service refused and says ${quoted(error.message)}.${advice}${wait}` }
  }
  if (error instanceof NetworkError) {
    return {
      code: 'no_answer',
      text: 'the service does not answer: it is unavailable. Whether it did what was asked is not known. Try again later.',
    }
  }
  if (error instanceof AnswerError) {
    return {
      code: 'strange_answer',
      text: 'what answered is not this service: a proxy, or another server. Tell the person you work for.',
    }
  }
  if (error instanceof VerificationError)
    return { code: error.reason, text: 'the message does not verify. Do not act on it.' }
  if (error instanceof EventGapError) return { code: 'events_expired', text: 'older events have expired.' }
  if (error instanceof TypeError) return { code: 'invalid_argument', text: quoted(error.message) }
  return { code: 'internal', text: 'a fault in the server itself; its log on stderr has more.' }
}

/** A code is text of the service too. */
export function codeOf({ code }: ApiError): string {
  return /^[a-z_]{1,40}$/.test(code) ? code : 'refused'
}
