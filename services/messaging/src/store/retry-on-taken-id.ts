import { ServiceError } from '@svc/contracts/errors.ts'

const UNIQUE_VIOLATION = '23505'
const MAX_ATTEMPTS = 4

/**
 * Appends a batch again where another transaction took one of its ids while it ran: the next attempt sees it, as a duplicate or
 * a conflict. Where others take one after the other, each item goes alone, and is not held up by what becomes of the rest.
 * @returns a row for each item, or its own failure. @throws what else `append` throws.
 */
export async function retryOnTakenId<Item, Row>(
  items: readonly Item[],
  append: (items: readonly Item[]) => Promise<readonly Row[]>,
): Promise<readonly (Row | Error)[]> {
  const rows = await attempts(items, append)
  if (rows !== undefined) return rows
  const taken = new ServiceError('unavailable', { cause: new Error('others take the ids as they are appended') })
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

/** @returns undefined where an id was taken each time. */
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
