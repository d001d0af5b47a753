import { ServiceError } from '@svc/contracts/errors.ts'

const UNIQUE_VIOLATION = '23505'
const MAX_ATTEMPTS = 4

/**
 * Retries a batch if another transaction took one of its ids while it ran. The next attempt sees that message, as a duplicate or
 * a conflict. If this happens `MAX_ATTEMPTS` times, each item is appended alone, so that it does not depend on the others.
 * @returns a row for each item, or the item's own failure. @throws any other error of `append`.
 */
export async function retryOnTakenId<Item, Row>(
  items: readonly Item[],
  append: (items: readonly Item[]) => Promise<readonly Row[]>,
): Promise<readonly (Row | Error)[]> {
  const rows = await attempts(items, append)
  if (rows !== undefined) return rows
  const taken = new ServiceError('unavailable', {
    cause: new Error('other transactions kept taking an id of the batch'),
  })
  if (items.length === 1) return [taken]
  const outcomes: (Row | Error)[] = []
  for (const item of items) {
    try {
      outcomes.push(...((await attempts([item], append)) ?? [taken]))
    } catch (error) {
      outcomes.push(error instanceof Error ? error : new Error(String(error)))
    }
  }
  return outcomes
}

/** @returns undefined if an id was taken in every attempt. */
async function attempts<Item, Row>(
  items: readonly Item[],
  append: (items: readonly Item[]) => Promise<readonly Row[]>,
): Promise<readonly Row[] | undefined> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    try {
      return await append(items)
    } catch (error) {
      if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error
    }
  }
  return undefined
}
