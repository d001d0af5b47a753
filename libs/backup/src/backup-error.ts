/** A backup or a restore is refused, or has failed. The message is for the operator: what is wrong, and what to do. */
export class BackupError extends Error {
  override name = 'BackupError'
}

/** Adds advice for the operator to a disk error. Other errors stay as they are. */
export function explainDisk(error: unknown, folder: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const about: Record<string, string> = {
    ENOSPC: `the disk of ${folder} is full`,
    EDQUOT: `the disk quota of ${folder} is used up`,
    EACCES: `${folder} is not writable for this user`,
    EPERM: `${folder} is not writable for this user`,
    EROFS: `${folder} is on a disk that is mounted read-only`,
  }
  const what = about[String(code)]
  return what === undefined ? error : new BackupError(what, { cause: error })
}
