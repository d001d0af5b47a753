/**
 * Checks every answer that a test receives against the OpenAPI description of the gateway that sent it. The check covers
 * all tests without their help: this file watches `fetch`, which the SDK and the CLI also use, and raw-http.ts passes in
 * its answers.
 */
import { ApiDescription, type OpenApi, type SeenAnswer, type SentRequest } from './api-description.ts'

/** Keyed by origin: `http://127.0.0.1:8080`. */
const descriptions = new Map<string, ApiDescription>()
const plainFetch = globalThis.fetch

/** While this exists, every answer of these gateways is checked against their description. */
interface Watch extends Disposable {
  /** @throws Error with every mismatch so far, even those that the caller of `fetch` ignored. */
  check(): void
}

export async function watchAnswers(urls: readonly string[]): Promise<Watch> {
  globalThis.fetch = watchedFetch
  const [url] = urls
  const response = await plainFetch(`${url}/openapi.json`)
  if (response.status !== 200) throw new Error(`no description: ${response.status} ${await response.text()}`)
  const description = descriptionOf(await response.text())
  const origins = urls.map((one) => new URL(one).origin)
  const found: string[] = []
  for (const origin of origins) {
    descriptions.set(origin, description)
    misfits.set(origin, found)
  }
  return {
    check() {
      if (found.length > 0) throw new Error(`answers that differ from the description:\n${found.join('\n')}`)
    },
    [Symbol.dispose]() {
      for (const origin of origins) {
        descriptions.delete(origin)
        misfits.delete(origin)
      }
    },
  }
}

const misfits = new Map<string, string[]>()

/** Keyed by the text of the description. Compiling one takes a second, and all files of a worker use the same description. */
const compiled = new Map<string, ApiDescription>()

function descriptionOf(text: string): ApiDescription {
  const description = compiled.get(text) ?? new ApiDescription(JSON.parse(text) as OpenApi)
  compiled.set(text, description)
  return description
}

/** @throws Error if the description of this gateway does not allow this answer to this request. */
export function expectDescribed(url: string, request: SentRequest, answer: SeenAnswer): void {
  const { origin } = new URL(url)
  const description = descriptions.get(origin)
  if (description === undefined) return
  report(origin, `${request.method} ${request.target}: ${answer.status}`, description.findMisfits(request, answer))
}

/** Like `expectDescribed`, for an answer to one of several requests. */
export function expectDescribedSomewhere(url: string, answer: SeenAnswer): void {
  const { origin } = new URL(url)
  const description = descriptions.get(origin)
  if (description === undefined) return
  report(origin, `${answer.status} ${answer.text.slice(0, 80)}`, description.findMisfitsOfSome(answer))
}

function report(origin: string, what: string, found: readonly string[]): void {
  if (found.length === 0) return
  const text = `${what}: ${found.join('; ')}`
  misfits.get(origin)?.push(text)
  throw new Error(`not as described: ${text}`)
}

const watchedFetch: typeof fetch = async (input, init) => {
  const response = await plainFetch(input, init)
  const url = new URL(input instanceof Request ? input.url : input)
  if (!descriptions.has(url.origin)) return response
  // An event stream does not end, so only its status and headers are checked.
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}))
  const { status } = response
  const text = isStream ? '' : await response.clone().text()
  const request = { method, target: targetOf(input), headers, body: textOf(init?.body) }
  expectDescribed(url.origin, request, { status, headers: response.headers, text })
  return response
}

/** The target that `fetch` puts into the request line. */
function targetOf(input: string | URL | Request): string {
  const { pathname, search } = new URL(input instanceof Request ? input.url : input)
  return pathname + search
}

function textOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string') return body
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
  throw new Error('a body of a kind that cannot be checked against the description')
}
