import { ServiceError } from '@svc/contracts/errors.ts'

/** `ok`, or the code of the error: what the rows of a table compare. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'ok'
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}
