/** The patch of docs/operating/rotate.md, rendered with the manifests as an operator does. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './facts.ts'
import { environmentOf, renderWith, workloadsOf } from './kubernetes/render.ts'

const ROTATE = readFileSync(join(ROOT, 'docs/operating/rotate.md'), 'utf8')

test('docs/operating/rotate.md: with the patch, the job creates the other login', () => {
  const [, patch = ''] = /```yaml\n([\s\S]*?)```/.exec(ROTATE) ?? []
  const rendered = renderWith(['database-roles'], `patches:\n${patch}`)
  const jobs = workloadsOf(rendered).filter(({ manifest }) => manifest.metadata.name.startsWith('roles-'))
  const logins = jobs.flatMap(({ containers }) =>
    containers.map((each) => environmentOf(each, rendered).SVC_DATABASE_LOGIN),
  )
  expect(logins.toSorted()).toEqual(['boards', 'budget', 'identity', 'messaging_b', 'stream', 'webhook'])
})
