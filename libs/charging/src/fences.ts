/**
 * One attempt to do an operation that was paid for. The deadline tells the attempts of one operation apart: each has a
 * later one than those before it.
 */
export interface Reservation {
  /** `<owner>:` and what the owner knows the operation by. */
  readonly operation: string
  /** Epoch milliseconds by budget's clock. */
  readonly deadlineMs: number
}

/** What an owner's database can tell, for good, of its operations. `createOperations` is one; messaging's messages are another. */
export interface Fences {
  /**
   * Ends the attempts of each operation up to a deadline, durably. An operation occurs once among `items`.
   *
   * @returns for each item, in order: true if the operation is committed; false if it is not, and then no attempt with that
   *   deadline or an earlier one can commit any more; undefined if a commit is in flight, which is never guessed at. Asking
   *   again is safe. An item that is undefined does not keep the others from their answers.
   * @throws ServiceError `unavailable` if nothing is known of any item.
   */
  fence(items: readonly Reservation[]): Promise<readonly (boolean | undefined)[]>
}

/** Thrown by a commit that knows it left nothing behind and wants the charge given back, where no ServiceError says so. */
export class NotCommitted extends Error {
  override name = 'NotCommitted'
}
