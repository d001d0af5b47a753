/**
 * Zero downtime: every process of every service stopped and started again, one after the other, under load: each request has its proper
 * answer, and streams close with a last cursor. Source: issue 5, 5; design.md, Failing.
 */
import { SERVICES } from '@svc/local/topology.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, startHarness } from '../../support/harness.ts'
import { type RollingLoad, startRollingLoad } from './load.ts'

/** Answers between two restarts. */
const ANSWERS = process.env.SVC_FAULTS === 'long' ? 400 : 30

let h: Harness
let load: RollingLoad
beforeAll(async () => {
  h = await startHarness({
    env: { SVC_DRAIN_SECONDS: '1', SVC_DAILY_FREE_UNITS: '10000000', SVC_DAILY_HARD_LIMIT: '10000000' },
  })
  load = await startRollingLoad(h)
})
afterAll(async () => {
  await load?.[Symbol.asyncDispose]()
  await h?.[Symbol.asyncDispose]()
})

describe('issue 5, 5: a rolling restart answers no request with anything but its proper answer', () => {
  test.each(SERVICES)('of %s', { timeout: 90_000 }, async (service) => {
    await load.more(ANSWERS)
    for (const name of [`${service}-1`, `${service}-2`]) {
      expect(await h.system.processes.get(name)?.stop()).toEqual({ code: 0, reason: 'exit code 0' })
      await load.more(ANSWERS)
      await h.system.start(name)
      await load.more(ANSWERS)
    }
    expect(load.wrong).toEqual([])
  })

  test('and nothing is lost, repeated or out of order', { timeout: 60_000 }, async () => {
    expect(await load.finish()).toEqual([])
  })
})
