/** The files of the web console, as the gateway serves them. What they do is tested in clients/console. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, type Harness, startHarness } from '../support/harness.ts'

let h: Harness
beforeAll(async () => {
  const { build } = await findTestRun()
  h = await startHarness({}, { console: pathToFileURL(join(build, 'clients/console/built/')) })
})
afterAll(() => h?.[Symbol.asyncDispose]())

const get = (target: string, headers: Record<string, string> = {}): Promise<Answer> => h.send({ target, headers })
const namesIn = (page: string): string[] => [...page.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path = '']) => path)

test.each(['/console', '/console/'])('%s is a page under a policy without inline scripts and frames', async (path) => {
  const { status, headers } = await get(path)
  expect(status).toBe(200)
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
  const policy = String(headers['content-security-policy'])
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ])
    expect(policy).toContain(rule)
  expect(policy).not.toContain('unsafe')
})

test('its files have names that change with their content, and may be kept for ever', async () => {
  const paths = namesIn((await get('/console')).text)
  expect(paths.length).toBeGreaterThan(0)
  for (const path of paths) {
    const { status, headers } = await get(path)
    expect(path).toMatch(/-[A-Z0-9]{8}\.(?:js|css)$/)
    expect(status).toBe(200)
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(await get(path, { 'if-none-match': String(headers.etag) })).toMatchObject({ status: 304, text: '' })
  }
})

test.each([
  ['br, gzip', 'br'],
  ['gzip', 'gzip'],
  ['br;q=0, gzip;q=0', null],
])('a client that accepts %s gets %s', async (accepted, coding) => {
  const [path = ''] = namesIn((await get('/console')).text)
  const url = `http://127.0.0.1:${h.port}${path}`
  const response = await fetch(url, { headers: { 'accept-encoding': accepted } })
  expect(response.headers.get('content-encoding')).toBe(coding)
  expect(await response.text()).toBe((await get(path)).text)
})

test.each([
  '/console/main.js',
  '/console/index.html',
  '/console/files.json',
  '/console/../src/main.ts',
  '/console/x.js.map',
])('spec 3.11: %s is not found', async (path) => {
  expect(await get(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
})

test('SVC_CONSOLE=off: there is no console', async () => {
  await using without = await startHarness({ SVC_CONSOLE: 'off' })
  expect(await without.send({ target: '/console' })).toMatchObject({ status: 404 })
})
