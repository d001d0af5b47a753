// Read by an old Node too, so it imports nothing.

const NEEDED = '22.19'

/** @returns the sentence for the user of a Node that is too old; undefined if it is new enough. */
export function complaintAbout(version: string): string | undefined {
  const [[major = 0, minor = 0], [neededMajor = 0, neededMinor = 0]] = [numbersOf(version), numbersOf(NEEDED)]
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return undefined
  return `svc needs Node ${NEEDED} or later, and this is Node ${version}: install a newer one, for example from https://nodejs.org`
}

function numbersOf(version: string): number[] {
  return version.split('.').map(Number)
}
