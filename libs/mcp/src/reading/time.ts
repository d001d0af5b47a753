import { AnswerError } from '@svc/sdk/errors.ts'

/** Unix seconds as RFC 3339. @throws AnswerError where no calendar has the time. */
export function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  if (Number.isNaN(date.getTime())) throw new AnswerError('the answer has a time that is none')
  return date.toISOString()
}
