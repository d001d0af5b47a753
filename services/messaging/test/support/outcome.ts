import { ServiceError } from '@svc/contracts/errors.ts'

/** `ok`, or the code of the error, to compare with the rows of a table. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'ok'
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}
