const UNIQUE_VIOLATION = '23505'
const MAX_ATTEMPTS = 4

/** Runs `work` again where another transaction took an id while it ran: the next attempt sees it, as a duplicate or a conflict. */
export async function retryOnTakenId<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || (error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error
    }
  }
}
