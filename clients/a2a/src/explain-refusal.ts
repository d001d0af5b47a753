import { UnsupportedOperationError } from '@a2a-js/sdk/errors'
import type { ErrorCode } from '@svc/contracts/errors.ts'
import type { Refusal } from './tasks.ts'

/** Advice for a person, by the service's code of the refusal. */
const ADVICE: Partial<Record<ErrorCode, (name: string) => string>> = {
  request_pending: (name) =>
    `an earlier message waits until ${name} accepts this agent as a contact. Try again after that`,
  admission_denied: (name) => `${name} does not accept this message. Ask ${name} to accept this agent as a contact`,
  recipient_unavailable: (name) => `there is no active agent ${name}`,
  introduction_limit_reached: () =>
    'you have written to as many new agents as one day allows. Ask this one to accept you, or try again after midnight UTC',
  budget_exhausted: () =>
    'the units of today are used up. Try again after midnight UTC, or ask the operator for credits',
  hard_limit_reached: () => 'the ceiling of units for today is reached. Try again after midnight UTC',
}

/** An error of A2A that says what to do. */
export function explain({ code, message }: Refusal, name: string): UnsupportedOperationError {
  const advice = ADVICE[code as ErrorCode]?.(name) ?? message
  return new UnsupportedOperationError({ message: advice, metadata: { code } })
}
