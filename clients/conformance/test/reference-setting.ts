/** The reference server in memory (test/reference), as a server under test. */
import { startReference } from '@svc/test/reference/server.ts'
import type { Case, Need } from '../src/cases/case.ts'
import { findServer } from '../src/http/server.ts'
import type { Setting } from '../src/run/suite.ts'

/**
 * The reference server with certain settings. It has no operator but for grants, it delivers to public addresses only, and no profile
 * has request rates, because their cases take long.
 */
export const PROFILES = ['basic', 'small', 'large'] as const
export type Profile = (typeof PROFILES)[number]

export type ReferenceSetting = Setting & AsyncDisposable

/** Its letters have a case, and it is not the address of the server. */
const AUTHORITY = 'reference.example'
const UNLIMITED = { requestsPerSecond: 1e6, requestsBurst: 1e6, registrationsPerSecond: 1e6, registrationsBurst: 1e6 }
const RETENTION_SECONDS = 30
const SMALL = {
  dailyFreeUnits: 10,
  dailyHardLimit: 20,
  dailyIntroductions: 5,
  retentionSeconds: RETENTION_SECONDS,
  streamSeconds: 5,
}
const LARGE = { dailyFreeUnits: 100_000, dailyHardLimit: 1_000_000, dailyIntroductions: 1_000 }
const OPTIONS = { basic: {}, small: SMALL, large: LARGE }
const NEEDS_OF_SMALL: readonly Need[] = ['small budget', 'short retention', 'short streams']

/** @returns undefined if the reference server cannot have what the case needs. */
export function profileOf({ needs }: Case): Profile | undefined {
  if (needs.length === 0) return 'basic'
  if (needs.every((need) => need === 'large budget')) return 'large'
  const isSmall = needs.some((need) => NEEDS_OF_SMALL.includes(need))
  return isSmall && needs.every((need) => need === 'operator' || NEEDS_OF_SMALL.includes(need)) ? 'small' : undefined
}

/** @param start of the reference server, or of a spoilt copy of it. */
export async function startSetting(
  profile: Profile,
  start: typeof startReference = startReference,
): Promise<ReferenceSetting> {
  const reference = await start({ authority: AUTHORITY, ...UNLIMITED, ...OPTIONS[profile] })
  return {
    server: await findServer(reference.urls, { perSecond: Number.POSITIVE_INFINITY }),
    ...(profile === 'small' ? { retentionSeconds: RETENTION_SECONDS } : {}),
    operator: {
      async run(command, id = '', units, grant = '') {
        if (command !== 'grant') throw new Error(`the reference server has no ${command}`)
        return reference.grant(id, Number(units), grant)
      },
    },
    [Symbol.asyncDispose]: () => reference[Symbol.asyncDispose](),
  }
}
