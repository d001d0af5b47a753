import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { complaintAbout } from './node-version.ts'

test.each(['22.19.0', '22.20.1', '23.0.0', '24.19.0', '100.0.0'])('Node %s is new enough', (version) => {
  expect(complaintAbout(version)).toBeUndefined()
})

test.each(['22.18.9', '22.9.0', '20.20.2', '18.20.4', '8.0.0'])('Node %s is too old', (version) => {
  expect(complaintAbout(version)).toBe(
    `svc needs Node 22.19 or later, and this is Node ${version}: install a newer one, for example from https://nodejs.org`,
  )
})

test('the published entry imports nothing that an old Node cannot read', () => {
  const entry = readFileSync(new URL('published.ts', import.meta.url), 'utf8')
  expect([...entry.matchAll(/^import .* from '(.*)'/gm)].map(([, from]) => from)).toEqual(['./node-version.ts'])
  expect(readFileSync(new URL('node-version.ts', import.meta.url), 'utf8')).not.toMatch(/^import/m)
})
