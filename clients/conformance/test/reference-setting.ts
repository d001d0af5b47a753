/** The reference server in memory (test/reference), as a server under test. */
import { startReference } from '@svc/test/reference/server.ts'
import type { Case, Need } from '../src/cases/case.ts'
import { findServer } from '../src/http/server.ts'
import type { Setting } from '../src/run/suite.ts'

/** What the reference server can have, by the needs of a case. It has no operator but `grant`, and delivers to public addresses only. */
export type Profile = 'basic' | 'small' | 'rates'

const UNLIMITED = { requestsPerSecond: 1e6, requestsBurst: 1e6, registrationsPerSecond: 1e6, registrationsBurst: 1e6 }
const RETENTION_SECONDS = 30
const SMALL = {
  dailyFreeUnits: 10,
  dailyHardLimit: 20,
  dailyIntroductions: 5,
  retentionSeconds: RETENTION_SECONDS,
  streamSeconds: 5,
}
const OPTIONS = { basic: UNLIMITED, small: { ...UNLIMITED, ...SMALL }, rates: {} }
const NEEDS_OF_SMALL: readonly Need[] = ['small budget', 'short retention', 'short streams']

/** @returns undefined if the reference server cannot have what the case needs. */
export function profileOf({ needs }: Case): Profile | undefined {
  if (needs.length === 0) return 'basic'
  if (needs.every((need) => need === 'default rates')) return 'rates'
  const isSmall = needs.some((need) => NEEDS_OF_SMALL.includes(need))
  return isSmall && needs.every((need) => need === 'operator' || NEEDS_OF_SMALL.includes(need)) ? 'small' : undefined
}

/** @param start of the reference server, or of a spoilt copy of it. */
export async function startSetting(
  profile: Profile,
  start: typeof startReference = startReference,
): Promise<Setting & AsyncDisposable> {
  const reference = await start(OPTIONS[profile])
  return {
    server: await findServer(reference.urls, { perSecond: Number.POSITIVE_INFINITY }),
    ...(profile === 'small' ? { retentionSeconds: RETENTION_SECONDS } : {}),
    rates: profile === 'rates',
    operator: {
      async run(command, id = '', units, grant = '') {
        if (command !== 'grant') throw new Error(`the reference server has no ${command}`)
        return reference.grant(id, Number(units), grant)
      },
    },
    [Symbol.asyncDispose]: () => reference[Symbol.asyncDispose](),
  }
}
