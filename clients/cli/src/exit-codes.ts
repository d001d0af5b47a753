/** Exit codes for scripts. The help of `svc` lists them. */
export const EXIT = {
  ok: 0,
  /** The service refused. The message has its code. A message that was perhaps accepted is `noAnswer`. */
  refused: 1,
  /** The command, a file or a variable is invalid. Nothing was sent. */
  usage: 2,
  /** It is unknown whether the request took effect: no answer, an answer that is not of this API, or one that leaves it open. */
  noAnswer: 3,
  /** A message could not be opened, or is not from the expected sender. */
  notVerified: 4,
  /** The books do not add up. */
  wrongBooks: 5,
  /** A bug in svc. */
  internal: 70,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
