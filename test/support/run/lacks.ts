/**
 * Whether tests are skipped for want of a program: `describe.skipIf(lacks(reason))`.
 * @param reason what is missing here, and how to install it. Undefined if the tests can run.
 * @throws Error in CI. It installs every program, so tests that are skipped there would stay so unseen.
 */
export function lacks(reason: string | undefined): boolean {
  if (reason === undefined) return false
  if (process.env.CI !== undefined) throw new Error(`CI skips no test: ${reason}`)
  console.warn(`Tests are skipped: ${reason}`)
  return true
}
