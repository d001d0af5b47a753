import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBuild } from '@svc/build/find.ts'
import { PROGRAMS } from '@svc/build/programs.ts'
import { afterAll, expect, test } from 'vitest'

const builds = mkdtempSync(join(tmpdir(), 'builds-'))
afterAll(() => rmSync(builds, { recursive: true }))

/** Bytes of every file but the cache, by path. */
function contentOf(folder: string): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.startsWith('compiled') && statSync(join(folder, path)).isFile())
    .toSorted()
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'latin1')]))
}

test('two who want the same build at once get one, and the next gets it without a build', async () => {
  const [one, other] = await Promise.all([findBuild(builds), findBuild(builds)])
  expect(one).toBe(other)
  expect(readdirSync(builds)).toHaveLength(1)
  const { ctimeMs } = statSync(join(one, 'gateway.js'))
  expect(await findBuild(builds)).toBe(one)
  expect(statSync(join(one, 'gateway.js')).ctimeMs).toBe(ctimeMs)
  // The image depends on this: the same sources, another folder, the same bytes.
  expect(contentOf(one)).toEqual(contentOf(await findBuild()))
})

test.each(Object.keys(PROGRAMS).filter((name) => name !== 'svc'))(
  '%s starts from the build alone, and says in one line what it lacks',
  async (name) => {
    const { status, stderr } = spawnSync(process.execPath, [`${name}.js`], {
      cwd: await findBuild(),
      encoding: 'utf8',
      env: {},
    })
    expect({ status, stderr }).toEqual({ status: 78, stderr: expect.stringMatching(/^.+\n$/) })
  },
)

test('svc starts from the build alone', async () => {
  expect(
    execFileSync(process.execPath, ['svc.js', 'help'], { cwd: await findBuild(), encoding: 'utf8', env: {} }),
  ).toContain('Usage: svc')
})
