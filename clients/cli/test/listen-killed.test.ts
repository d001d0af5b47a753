import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { bundle } from '@svc/build/programs.ts'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { expect, test } from 'vitest'
import { temporaryFolder } from './run.ts'

const { folder: runFolder } = await findTestRun()
const LISTENER = join(runFolder, 'programs/listener.js')
await bundle({ listener: 'clients/cli/test/scripted-listener.ts' }, runFolder)
const KILL_AFTER = new URL('kill-after.ts', import.meta.url).href
/** The events of `scripted-listener.ts` that the listener should process. The third event is a stranger's request. */
const WANTED = [1, 2, 4]
/** Posts have no acknowledgement. */
const ACKNOWLEDGED = [1, 4]

/** @param effects kills the listener before this effect; undefined: never. @returns whether it was killed. */
async function listen(folder: string, jobs: number, effects?: number): Promise<boolean> {
  const preload = effects === undefined ? [] : ['--import', KILL_AFTER]
  const child = spawn(process.execPath, [...preload, LISTENER, folder, String(jobs)], {
    env: { ...ENVIRONMENT, SVC_TEST_KILL_AFTER: String(effects) },
  })
  const stderr = text(child.stderr)
  const [code, signal] = await once(child, 'exit')
  if (signal !== 'SIGKILL') expect(code, await stderr).toBe(0)
  return signal === 'SIGKILL'
}

function read(folder: string) {
  const textOf = (name: string): string =>
    existsSync(`${folder}/${name}`) ? readFileSync(`${folder}/${name}`, 'utf8') : ''
  return {
    cursor: Number(JSON.parse(textOf('process/place') || '{"cursor":0}').cursor),
    ran: textOf('log').split('\n').filter(Boolean),
    /** Handled, and to be acknowledged. */
    pending: ACKNOWLEDGED.filter((at) => textOf(`process/messages/message-${at}`).includes('"answer":null')),
    acknowledged: ACKNOWLEDGED.filter((at) => existsSync(`${folder}/acknowledged-message-${at}`)),
  }
}

/** SVC_FAULTS=long kills before each effect. Otherwise the test kills before every third effect. */
const STEP = process.env.SVC_FAULTS === 'long' ? 1 : 3

test.each([1, 2])(
  'killed before any effect, it finishes all events, and its cursor passes no unfinished event: %i at a time',
  {
    timeout: 600_000,
  },
  async (jobs) => {
    let killed = 0
    for (let effects = 1; ; effects += STEP) {
      using home = temporaryFolder()
      const folder = home.path('.')
      const wasKilled = await listen(folder, jobs, effects)
      const { cursor, ran, pending, acknowledged } = read(folder)
      const finished = WANTED.filter((at) => at <= cursor)
      expect(ran, `killed before effect ${effects}`).toEqual(
        expect.arrayContaining(finished.map((at) => `message-${at}`)),
      )
      expect([...acknowledged, ...pending], `killed before effect ${effects}`).toEqual(
        expect.arrayContaining(ACKNOWLEDGED.filter((at) => at <= cursor)),
      )
      if (wasKilled) expect(await listen(folder, jobs)).toBe(false)
      const end = read(folder)
      expect(end).toMatchObject({ cursor: 4, acknowledged: ACKNOWLEDGED })
      expect(new Set(end.ran)).toEqual(new Set(WANTED.map((at) => `message-${at}`)))
      if (jobs === 1) expect([...new Set(end.ran)]).toEqual(WANTED.map((at) => `message-${at}`))
      // A kill repeats at most the commands that were running.
      expect(end.ran.length).toBeLessThanOrEqual(WANTED.length + jobs)
      expect(existsSync(home.path('dead-letters'))).toBe(false)
      if (!wasKilled) break
      killed += 1
    }
    expect(killed).toBeGreaterThan(40 / STEP)
  },
)
