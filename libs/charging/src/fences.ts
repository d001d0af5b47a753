/**
 * One attempt at an operation whose cost is reserved. The deadline identifies the attempt: it is later than the deadlines
 * of all earlier attempts at the operation.
 */
export interface Reservation {
  /** `<owner>:` and the owner's key for the operation. */
  readonly operation: string
  /** Epoch milliseconds by budget's clock. */
  readonly deadlineMs: number
}

/** Final answers of an owner's database about its operations. `createOperations` and messaging implement it. */
export interface Fences {
  /**
   * Ends the attempts at each operation up to a deadline, durably. An operation occurs at most once in `items`.
   *
   * @returns for each item, in order: true if the operation is committed. False if it is not; then no attempt with this deadline
   *   or an earlier one can commit any more. Undefined if a commit is in flight, so that nothing is known yet. A repeat is safe.
   *   An undefined item does not delay the answers for the others.
   * @throws ServiceError `unavailable` if nothing is known about any item.
   */
  fence(items: readonly Reservation[]): Promise<readonly (boolean | undefined)[]>
}
