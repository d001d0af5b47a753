import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const module = fileURLToPath(new URL('./scheduling.ts', import.meta.url))
const hasChrt = (process.env.PATH ?? '').split(':').some((folder) => existsSync(`${folder}/chrt`))
/** The policy, by the kernel's number, that what a process starts has after it asked to take turns. */
const script = `
  const { takeTurns } = await import(process.argv[1])
  takeTurns()
  const { execFileSync } = await import('node:child_process')
  process.stdout.write(execFileSync(process.execPath, ['-p', ${JSON.stringify(`
    require('node:fs').readFileSync('/proc/self/stat', 'latin1').split(') ')[1].split(' ')[38]
  `)}]))
`
const SCHED_BATCH = 3

it.runIf(process.platform === 'linux' && hasChrt)('what is started afterwards interrupts nobody', () => {
  // Begun under the usual policy, whatever these tests run under.
  const args = ['-o', '0', process.execPath, '--input-type=module', '-e', script, module]
  const policy = execFileSync('chrt', args, { encoding: 'utf8' })
  expect(Number(policy)).toBe(SCHED_BATCH)
})

it('where there is no such policy, or no command to ask for it, everything works', () => {
  const env = { PATH: '' }
  execFileSync(process.execPath, ['--input-type=module', '-e', `(await import(process.argv[1])).takeTurns()`, module], {
    env,
  })
})
