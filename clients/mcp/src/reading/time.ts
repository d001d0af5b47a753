import { AnswerError } from '@svc/sdk/errors.ts'

/** Unix seconds as RFC 3339. @throws AnswerError if the time is out of range. */
export function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  if (Number.isNaN(date.getTime())) throw new AnswerError('the answer has an invalid time')
  return date.toISOString()
}
