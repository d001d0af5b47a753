/** The reference page: the files under `/docs`, and the page in a browser. */
import { type Browser, type Page, type Request, startChromium } from '@svc/test/support/engines/chromium.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, type Harness, startHarness } from '../support/harness.ts'

const FILES = [
  ['/docs', 'text/html'],
  ['/docs/reference.css', 'text/css'],
  ['/docs/reference.js', 'text/javascript'],
  ['/docs/swagger-ui.css', 'text/css'],
  ['/docs/swagger-ui-bundle.js', 'text/javascript'],
] as const
const DOCUMENTS = [...FILES.map(([path]) => path), '/openapi.json', '/.well-known/agent.json']

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h?.[Symbol.asyncDispose]())

const get = (target: string, headers: Record<string, string> = {}): Promise<Answer> => h.send({ target, headers })

describe('the files of the reference page', () => {
  test.each(FILES)('%s is %s, and a browser may not guess another type', async (path, type) => {
    expect(await get(path)).toMatchObject({
      status: 200,
      headers: {
        'content-type': `${type}; charset=utf-8`,
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    })
  })

  test.each(DOCUMENTS)('%s is revalidated by its ETag and not sent again', async (path) => {
    const first = await get(path)
    const etag = String(first.headers.etag)
    expect(etag).toMatch(/^W\/"[\w-]+"$/)
    expect(first.headers['cache-control']).toBe('no-cache')
    for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const again = await get(path, { 'if-none-match': known })
      expect(again).toMatchObject({ status: 304, text: '', headers: { etag } })
      expect(again.headers['content-type'], 'RFC 9110, 15.4.5: no content, so no type').toBeUndefined()
    }
    expect(await get(path, { 'if-none-match': '"other"' })).toMatchObject({ status: 200, text: first.text })
  })

  test.each(['/docs/swagger-ui-bundle.js', '/openapi.json'])(
    '%s is compressed for clients that accept compression',
    async (path) => {
      const plain = await get(path)
      expect(plain.headers['content-encoding']).toBeUndefined()
      const response = await fetch(`http://127.0.0.1:${h.port}${path}`, { headers: { 'accept-encoding': 'gzip' } })
      expect(response.headers.get('content-encoding')).toBe('gzip')
      expect(Number(response.headers.get('content-length'))).toBeLessThan(Buffer.byteLength(plain.text) / 2)
      expect(await response.text()).toBe(plain.text)
      for (const refused of ['br', 'gzip;q=0', 'identity', 'gzip;q=0, *']) {
        expect((await get(path, { 'accept-encoding': refused })).text).toBe(plain.text)
      }
    },
  )

  test('spec 3.1: a signature that is supplied must be valid on /docs too', async () => {
    expect(await get('/docs', { authorization: 'SVC x' })).toMatchObject({ status: 401 })
  })

  test('/docs/ leads to /docs', async () => {
    expect(await get('/docs/')).toMatchObject({ status: 308, text: '', headers: { location: '/docs' } })
    const followed = await fetch(`http://127.0.0.1:${h.port}/docs/`)
    expect([followed.status, new URL(followed.url).pathname]).toEqual([200, '/docs'])
  })

  test.each(['/docs//', '/docs/other.js', '/docs/../src/main.ts', '/docs/swagger-ui.css.map'])(
    'spec 3.11: %s is not found',
    async (path) => {
      expect(await get(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
    },
  )
})

describe('spec 12.1: the page at /', () => {
  const html = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

  test('tells a browser what the service is and where to go, under a policy that allows nothing', async () => {
    const { status, headers, text } = await get('/', html)
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
      'cache-control': 'no-cache',
      vary: 'accept, accept-encoding',
      'x-content-type-options': 'nosniff',
    })
    const targets = [...text.matchAll(/href="([^"]+)"/g)].map(([, target = '']) => target)
    expect(targets).toEqual(['/docs', '/console', '/.well-known/agent.json', '/openapi.json', '/llms.txt'])
    for (const target of targets.filter((one) => one !== '/console'))
      expect(await get(target)).toMatchObject({ status: 200 })
  })

  test('SVC_CONSOLE=off: it does not link to the console', async () => {
    await using without = await startHarness({ SVC_CONSOLE: 'off' })
    expect((await without.send({ target: '/', headers: html })).text).not.toContain('/console')
  })

  test.each<[string, Record<string, string>]>([
    ['application/json', { accept: 'application/json' }],
    ['anything', { accept: '*/*' }],
    ['nothing', {}],
  ])('spec 3.11: a client that asks for %s gets not_found', async (_, headers) => {
    expect(await get('/', headers)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
  })

  test.each(['HEAD', 'OPTIONS', 'POST'])('spec 3.11: %s is not found, for a browser too', async (method) => {
    expect(await h.send({ method, target: '/', headers: html })).toMatchObject({ status: 404 })
  })

  test('spec 3.1: a signature that is supplied must be valid here too', async () => {
    expect(await get('/', { ...html, authorization: 'SVC x' })).toMatchObject({ status: 401 })
  })
})

describe('the reference page in a browser', () => {
  let browser: Browser
  let page: Page
  const requests: Request[] = []
  const complaints: string[] = []
  const origin = () => `http://127.0.0.1:${h.port}`

  beforeAll(async () => {
    browser = await startChromium()
    page = await browser.newPage()
    page.setDefaultTimeout(90_000)
    page.on('request', (request) => requests.push(request))
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(`${origin()}/docs`)
    await page.waitForSelector('.opblock')
  })
  afterAll(() => browser?.close())

  test('shows every operation of the description', async () => {
    const { body } = await get('/openapi.json')
    const described = Object.values((body as { paths: Record<string, Record<string, { operationId: string }>> }).paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId)
    const shown = await page.locator('.opblock-summary-operation-id').allTextContents()
    expect(shown.map((name) => name.replaceAll('\u200b', '')).sort()).toEqual(described.sort())
  })

  test('shows parameters, bodies, examples and error codes of an operation that is opened', async () => {
    await page.locator('#operations-Messages-sendMessage .opblock-summary-control').click()
    const opened = page.locator('#operations-Messages-sendMessage')
    await opened.locator('.responses-table').waitFor()
    const text = await opened.textContent()
    const parts = ['X-SVC-Nonce', '"sig"', 'id_conflict', 'X-Request-Id', '409', '202']
    expect(parts.filter((part) => !text?.includes(part))).toEqual([])
    expect(await page.locator('.try-out').count()).toBe(0)
  })

  test('sends no request to another host, and none of its requests is answered 404', async () => {
    await page.waitForLoadState('networkidle')
    const addresses = requests.map((request) => request.url()).filter((url) => !url.startsWith('data:'))
    expect(new Set(addresses.map((url) => new URL(url).origin))).toEqual(new Set([origin()]))
    const asked = [...new Set(addresses.map((url) => new URL(url).pathname))].sort()
    expect(asked).toEqual([...FILES.map(([path]) => path), '/openapi.json'].sort())
    const statuses = await Promise.all(requests.map(async (request) => (await request.response())?.status()))
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  test('needs nothing that its policy forbids, and logs no error', () => {
    expect(complaints).toEqual([])
  })

  test('its policy works: the browser refuses to load anything from elsewhere, and reports it', async () => {
    await page.evaluate('document.body.append(Object.assign(new Image(), { src: "https://elsewhere.example/x.png" }))')
    await page.evaluate('fetch("https://elsewhere.example/").catch(() => {})')
    await page.evaluate('document.body.append(Object.assign(document.createElement("script"), { text: "1" }))')
    await eventually(() => complaints.length >= 3, { what: 'complaints' })
    expect(complaints.every((text) => text.includes('Content Security Policy'))).toBe(true)
    const sent = () =>
      requests.filter((request) => request.url().startsWith('https:') && request.failure()?.errorText !== 'csp')
    await eventually(() => expect(sent()).toEqual([]))
  })

  test('an address cannot make it show another description', async () => {
    const answer = await get('/docs?url=https://elsewhere.example/openapi.json')
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
  })
})
