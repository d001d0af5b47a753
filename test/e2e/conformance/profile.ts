/**
 * Runs the conformance suite (clients/conformance) on a system of ours: one test for each case. A profile is a system with certain
 * settings, and each case runs in one profile.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Case, Need } from '@svc/conformance/cases/case.ts'
import { findServer } from '@svc/conformance/http/server.ts'
import { lineOf } from '@svc/conformance/report/text.ts'
import type { CaseResult } from '@svc/conformance/result.ts'
import { startReceiver } from '@svc/conformance/run/receiver.ts'
import { allCases, runCases, type Setting } from '@svc/conformance/run/suite.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { svc } from '../../../clients/cli/test/run.ts'
import { expectDescribed } from '../../support/description/described-answers.ts'
import { createAuthority } from '../../support/engines/certificates.ts'
import { findTestRun, takePorts } from '../../support/engines/engines.ts'
import { eventually } from '../../support/eventually.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import type { SystemOptions } from '../../support/system/system.ts'

/** The needs by which a case chooses its profile. Every profile has two gateways, the operator and a receiver. */
const PROFILES = {
  default: [],
  small: ['small budget', 'short retention', 'short streams'],
  large: ['large budget'],
  rates: ['default rates'],
} satisfies Record<string, Need[]>

type Profile = keyof typeof PROFILES

const AT_ONCE = 12

function profileOf({ needs }: Case): Profile {
  const chosen = (Object.keys(PROFILES) as Profile[]).find((name) =>
    needs.some((need) => PROFILES[name].includes(need as never)),
  )
  return chosen ?? 'default'
}

/** Declares the tests of a profile. @param options settings of the system. @param retentionSeconds as the settings say. */
export function testProfile(
  profile: Profile,
  { env = {}, ...options }: SystemOptions = {},
  retentionSeconds?: number,
): void {
  // SVC_CASES chooses cases while one works on them.
  const chosen = process.env.SVC_CASES ?? ''
  const cases = allCases().filter((one) => profileOf(one) === profile && one.id.startsWith(chosen))
  const ended = new Map(cases.map(({ id }) => [id, Promise.withResolvers<CaseResult>()]))
  let stack: AsyncDisposableStack
  let running: Promise<unknown>

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const port = await takePorts(1)
    const host = `127.0.0.1:${port}`
    const authority = await createAuthority()
    const caFile = join((await findTestRun()).folder, `ca-${port}.pem`)
    writeFileSync(caFile, authority.cert)
    const receiver = stack.use(await startReceiver({ url: `https://${host}`, port, tls: await authority.issue() }))
    const h: Harness = stack.use(
      await startHarness({
        ...options,
        env: {
          SVC_CORS_ORIGINS: '*',
          SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: host,
          SVC_WEBHOOK_BACKOFF_SECONDS: '0,0.05,0.05,0.05,0.05',
          NODE_EXTRA_CA_CERTS: caFile,
          ...env,
        },
      }),
    )
    const setting: Setting = {
      server: await findServer(h.system.urls, { perSecond: Number.POSITIVE_INFINITY }, ({ request }, answer) => {
        const { origin } = new URL(request.url)
        const sent = {
          ...request,
          target: request.url.slice(origin.length),
          headers: headersOf(request.headers),
          body: request.body,
        }
        expectDescribed(origin, sent, answer)
      }),
      receiver,
      retentionSeconds,
      shortBackoff: true,
      rates: profile === 'rates',
      operator: {
        async run(...args) {
          const env = { SVC_NATS_URL: h.system.nats.urlFor('admin') }
          // Every command may be repeated, and a busy machine does not always answer it in time.
          const { exitCode, stdout, stderr } = await eventually(async () => {
            const run = await svc(['admin', ...args], { env })
            return !run.stderr.includes('does not answer') && run
          })
          if (exitCode !== 0) throw new Error(`svc admin ${args.join(' ')}: ${stderr}`)
          return stdout
        },
      },
    }
    running = runCases(cases, setting, {
      atOnce: AT_ONCE,
      onResult: (result) => ended.get(result.id)?.resolve(result),
    })
  })
  afterAll(async () => {
    await running
    await stack?.disposeAsync()
  })

  describe(`profile ${profile}`, () => {
    // `test.each` would shorten the names, and docs/conformance.md is made from them.
    for (const { id, spec, title } of cases)
      test(`spec ${spec.join(', ')}: ${title}`, async () => {
        const result = await ended.get(id)?.promise
        expect(result?.status, result && lineOf(result)).toBe('passed')
      })
  })
}

function headersOf(lines: Readonly<Record<string, string | readonly string[]>>): Headers {
  return new Headers(
    Object.entries(lines).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as [string, string])),
  )
}
