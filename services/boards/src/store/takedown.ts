import type { Tx } from '@svc/postgres/database.ts'

/**
 * Locks a board until the transaction ends, even if it is taken down. Undefined if there is no board with this id, or if its owner
 * was erased: then it stays down.
 */
export async function lockAnyBoard(tx: Tx, id: string): Promise<{ takenDown: boolean } | undefined> {
  const [row] = await tx<{ takenDown: boolean }[]>`
    select b.taken_down as "takenDown" from boards.boards b where b.id = ${id} and b.owner !~ '^Erased[1-9a-fZ]{36}$'
    for no key update`
  return row
}

/** Takes a board down, or shows it again. The caller holds its lock. */
export async function setTakenDown(tx: Tx, id: string, takenDown: boolean): Promise<void> {
  await tx`update boards.boards b set taken_down = ${takenDown} where b.id = ${id}`
}
