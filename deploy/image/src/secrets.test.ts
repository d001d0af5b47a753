import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('secrets.ts', import.meta.url))

test.each([
  ['sslmode=require&channel_binding=require', 'channel_binding=require, which is not supported'],
  ['sslmode=verify-full&user=admin', 'has a login in its parameters'],
])('no files are made for a URL with %s', (parameters, problem) => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  const args = [PROGRAM, folder, '--database', `postgres://admin@db.example.org/svc?${parameters}`]
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 78, stderr: expect.stringMatching(`^--database has .*`) })
  expect(stderr).toContain(problem)
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})
