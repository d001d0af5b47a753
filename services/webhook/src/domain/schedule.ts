/** The delay of each attempt after the previous one, in seconds, with one entry per attempt (spec 10.7). */
export type Backoff = readonly number[]

/** Each delay is randomly up to 20 % longer or shorter (spec 10.7). */
const JITTER = 0.2

/**
 * Returns the seconds until the next attempt.
 * @param ended Number of attempts that have ended; 0 for a new job.
 * @param random From 0 to less than 1.
 * @returns undefined if no attempt is left: the job has failed.
 */
export function secondsToNext(backoff: Backoff, ended: number, random: number): number | undefined {
  const seconds = backoff[ended]
  return seconds === undefined ? undefined : seconds * (1 - JITTER + 2 * JITTER * random)
}
