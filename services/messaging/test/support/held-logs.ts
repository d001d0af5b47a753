import type postgres from 'postgres'

/** Locks logs until it is disposed, like a process that stopped in the middle of a transaction. */
export async function holdLogs(admin: postgres.Sql, logs: string[]): Promise<AsyncDisposable> {
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ended = admin.begin(async (tx) => {
    await tx`select from messaging.logs where id = any (${logs}::text[]) for update`
    held.resolve()
    await free.promise
  })
  await Promise.race([held.promise, ended])
  return {
    async [Symbol.asyncDispose]() {
      free.resolve()
      await ended
    },
  }
}
