/**
 * The mark of a database into which a backup is being restored: this schema exists from before the first change to the
 * commit of the last one. Until then, no migration runs and no service starts.
 */
export const RESTORING = 'svc_restore'

/** The database has a part of a backup. The message says what to do. */
export class UnfinishedRestoreError extends Error {
  override name = 'UnfinishedRestoreError'
  constructor() {
    super(
      'the database has only a part of a backup, because svc admin restore is at work or was interrupted: repeat it, or drop the database',
    )
  }
}
