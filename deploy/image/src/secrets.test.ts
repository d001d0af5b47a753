import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('secrets.ts', import.meta.url))

test.each([
  ['sslmode=require&channel_binding=require', 'channel_binding=require, which is not supported'],
  ['sslmode=prefer', 'would continue without TLS'],
])('no files are made for a URL with %s', (parameters, problem) => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  const args = [PROGRAM, folder, '--database', `postgres://admin@db.example.org/svc?${parameters}`]
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 78, stderr: expect.stringMatching(`^--database has .*`) })
  expect(stderr).toContain(problem)
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})

test('each role has its own login in the URL of the database, with all hosts and parameters', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  const parameters = 'sslmode=verify-full&options=-c%20a.b=c'
  const url = `postgresql://nobody@a:1,[::1]:2/?user=admin&dbname=svc&${parameters}`
  expect(spawnSync(process.execPath, [PROGRAM, folder, '--database', url]).status).toBe(0)
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8').trimEnd()
  const place = `@a:1,[::1]:2/svc?${parameters}`
  expect(read('budget-roles/admin-url')).toBe(`postgres://admin:${read('postgres/password')}${place}`)
  expect(read('budget/database-url')).toBe(`postgres://budget:${read('budget-roles/password')}${place}`)
  expect(read('budget-owner/database-url')).toBe(
    `postgres://budget_owner:${read('budget-roles/owner-password')}${place}`,
  )
  rmSync(folder, { recursive: true })
})
