import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from './run.ts'

const LISTENER = fileURLToPath(new URL('scripted-listener.ts', import.meta.url))
const KILL_AFTER = new URL('kill-after.ts', import.meta.url).href
/** Those of `scripted-listener.ts` that are to be worked on; the third one is a request. */
const WANTED = [1, 2, 4, 5]

test.each([1, 2])(
  'killed in front of each effect in turn, with %i at a time, it finishes all and its cursor passes nothing',
  {
    timeout: 300_000,
  },
  async (jobs) => {
    using folder = temporaryFolder()
    const lines = (): string[] =>
      existsSync(folder.path('log')) ? readFileSync(folder.path('log'), 'utf8').split('\n').filter(Boolean) : []
    const cursor = (): number =>
      existsSync(folder.path('progress.json'))
        ? JSON.parse(readFileSync(folder.path('progress.json'), 'utf8')).cursor
        : 0
    const acknowledged = (at: number): boolean => existsSync(folder.path(`acknowledged-message-${at}`))
    let killed = 0
    for (let effects = 1; ; effects += 1) {
      const child = spawn(process.execPath, ['--import', KILL_AFTER, LISTENER, folder.path('.'), String(jobs)], {
        env: { PATH: process.env.PATH, SVC_TEST_KILL_AFTER: String(effects) },
      })
      const stderr = text(child.stderr)
      const [code, signal] = await once(child, 'exit')
      const finished = WANTED.filter((at) => at <= cursor())
      for (const at of finished) expect(lines(), `cursor ${cursor()}`).toContain(`message-${at}`)
      // A message counts as finished only after its acknowledgement; posts have none.
      for (const at of finished) if (at === 1 || at === 4) expect(acknowledged(at), `message ${at}`).toBe(true)
      if (code === 0) break
      expect(signal, await stderr).toBe('SIGKILL')
      killed += 1
    }
    expect(killed).toBeGreaterThan(15)
    expect(cursor()).toBe(5)
    expect(new Set(lines())).toEqual(new Set(WANTED.map((at) => `message-${at}`)))
    if (jobs === 1) expect([...new Set(lines())]).toEqual(WANTED.map((at) => `message-${at}`))
    // Each kill repeats at most what was under way.
    expect(lines().length).toBeLessThanOrEqual(WANTED.length + killed * jobs)
    expect(existsSync(folder.path('dead-letters'))).toBe(false)
  },
)
