import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { FAILPOINTS } from './failpoints.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** `svc admin backup` and `restore` have failpoints too. They are no services, and test/faults/restore.test.ts kills them. */
const COMMANDS = 'libs/backup/'
/** The owners of charges, as libs/charging names them in failpoints. */
const OWNERS = ['identity', 'messaging', 'boards', 'webhook']

test('the nemesis lists every failpoint of the code, and no other', () => {
  const known = Object.values(FAILPOINTS).flat().toSorted()
  expect(known).toEqual([...new Set(pointsInCode())].toSorted())
})

function pointsInCode(): string[] {
  const files = globSync('{services,libs}/*/src/**/*.ts', { cwd: ROOT }).filter(
    (file) => !file.endsWith('.test.ts') && !file.startsWith(COMMANDS),
  )
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const plain = [...text.matchAll(/failpoint\('([a-z.-]+)'\)/g)].map(([, name = '']) => name)
    const steps = [...text.matchAll(/`charging\.\$\{(?:deps\.)?owner\}\.([a-z]+)`/g)].map(([, step = '']) => step)
    return [...plain, ...steps.flatMap((step) => OWNERS.map((owner) => `charging.${owner}.${step}`))]
  })
}
