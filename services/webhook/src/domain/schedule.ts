/** When each attempt is due after the one before, in seconds: one entry for each attempt (spec 10.7). */
export type Backoff = readonly number[]

/** Each pause is up to 20 % longer or shorter, at random (spec 10.7). */
const JITTER = 0.2

/**
 * Seconds until the next attempt.
 * @param ended attempts that have ended; 0 for a new job.
 * @param random from 0 to less than 1.
 * @returns undefined where no attempt is left: the job is given up.
 */
export function secondsToNext(backoff: Backoff, ended: number, random: number): number | undefined {
  const seconds = backoff[ended]
  return seconds === undefined ? undefined : seconds * (1 - JITTER + 2 * JITTER * random)
}
