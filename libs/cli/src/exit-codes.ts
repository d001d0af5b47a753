/** What a script can tell by. The help of `svc` lists them. */
export const EXIT = {
  ok: 0,
  /** The service refused; its code is in the message. */
  refused: 1,
  /** The command, a file or a variable is not as it must be; nothing was sent. */
  usage: 2,
  /** No answer, or none of this API; what was asked for may or may not have been done. */
  noAnswer: 3,
  /** A message did not open, or is not from whom it was said to be. */
  notVerified: 4,
  /** The books do not add up. */
  wrongBooks: 5,
  /** A fault of this program. */
  internal: 70,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
