/**
 * Checks requests and answers against the OpenAPI description. A JSON Schema validator compiles the description in strict mode: it
 * refuses unknown keywords, and checks the schemas against their meta-schema.
 */
import { ERRORS, type ErrorCode } from '@svc/contracts/errors.ts'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export type Json = Readonly<Record<string, unknown>>

export interface OpenApi {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, Json>>>>
}

export interface DescribedOperation {
  readonly operationId: string
  readonly security: readonly Json[]
  readonly parameters: readonly (Json & { readonly $ref?: string })[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, DescribedResponse>>
}

interface DescribedResponse {
  readonly description: string
  readonly headers: Readonly<Record<string, Json & { readonly $ref?: string }>>
  readonly content: Content
}

type Content = Readonly<Record<string, { readonly schema: Json; readonly examples: Readonly<Record<string, Json>> }>>

/** A sent request. */
export interface SentRequest {
  readonly method: string
  /** The target of the request line. */
  readonly target: string
  readonly headers: Headers
  /** Undefined if the request had no body. */
  readonly body: string | undefined
}

export interface SeenAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** One parameter with its references resolved. */
interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Json
}

/** Documents that the gateway serves but the description does not list (spec 1.4). */
const DOCUMENTS = /^\/(?:openapi\.json|llms\.txt|docs(?:\/[\w.-]+)?)$/

/** Spec 4.1. */
const ERROR_BODY: Json = closedObject({
  error: closedObject({ code: { type: 'string' }, message: { type: 'string' } }),
})

function closedObject(properties: Json): Json {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** Headers for the connection and the browser, on any answer. */
const TRANSPORT_HEADERS =
  /^(?:connection|keep-alive|content-length|content-type|content-encoding|transfer-encoding|vary|etag|access-control-.*)$/

/** Errors that do not depend on an operation: found before the path is examined, or because the path is unknown (spec 3.5, 3.11). */
const CODES_OF_NO_OPERATION: readonly ErrorCode[] = [
  'invalid_request',
  'unauthenticated',
  'timestamp_out_of_range',
  'signer_unknown',
  'signature_invalid',
  'signer_revoked',
  'forbidden',
  'not_found',
  'nonce_replayed',
  'body_too_large',
  'rate_limited',
  'internal',
  'unavailable',
]

export class ApiDescription {
  readonly document: OpenApi
  readonly #ajv = new Ajv2020({ strict: true, allErrors: true, strictTypes: false })
  readonly #compiled = new Map<string, ValidateFunction>()
  readonly #routes: { pattern: RegExp; path: string; names: string[] }[]

  constructor(document: OpenApi) {
    this.document = document
    formats.default(this.#ajv)
    this.#ajv.addVocabulary(['components', 'paths'])
    this.#ajv.addSchema({ $id: 'api', components: document.components, paths: document.paths })
    this.#routes = Object.keys(document.paths).map((path) => ({
      path,
      names: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''),
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`),
    }))
  }

  /** Returns one sentence for each mismatch between the description and the answer. After a success, also checks the request. */
  findMisfits(request: SentRequest, answer: SeenAnswer): string[] {
    const path = pathOf(request.target)
    const operation = this.#find(request.method, path)
    if (operation === undefined) return this.#misfitsOfNoOperation(request, path, answer)
    const { status } = answer
    const at = `paths/${pointerStep(operation.path)}/${request.method.toLowerCase()}`
    const response = operation.described.responses[status]
    if (response === undefined) return [`${operation.described.operationId} does not answer ${status}`]
    return [
      ...this.#misfitsOfHeaders(response.headers, answer),
      ...this.#misfitsOfBody(`${at}/responses/${status}`, response.content, answer),
      ...(status < 300 ? this.#misfitsOfRequest(operation, at, request) : []),
    ]
  }

  /** Like `findMisfits`, for an answer whose request is unknown. The answer must be possible for an operation or for an unknown path. */
  findMisfitsOfSome(answer: SeenAnswer): string[] {
    const kinds = Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) => {
        const response = responses[answer.status]
        if (response === undefined) return []
        const at = `paths/${pointerStep(path)}/${method}/responses/${answer.status}`
        return [
          () => [
            ...this.#misfitsOfHeaders(response.headers, answer),
            ...this.#misfitsOfBody(at, response.content, answer),
          ],
        ]
      }),
    )
    const unknown = { method: 'GET', target: '', headers: new Headers(), body: undefined }
    const none = this.#misfitsOfNoOperation(unknown, '/openapi.json', answer)
    return none.length === 0 || kinds.some((find) => find().length === 0)
      ? []
      : [`no operation gives this answer: ${none}`]
  }

  /** The path, query and header parameters of an operation. */
  parametersOf({ parameters }: DescribedOperation): Parameter[] {
    return parameters.map((parameter) => {
      const { name, in: place, required = false, schema } = this.resolve(parameter)
      return { name, in: place, required, schema: this.resolve(schema as Json) } as Parameter
    })
  }

  /** Resolves a `$ref` of the document. Returns any other value unchanged. */
  resolve(value: Json): Json {
    if (typeof value.$ref !== 'string') return value
    const found = value.$ref
      .replace(/^#\//, '')
      .split('/')
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((place, name) => (place as Json | undefined)?.[name], this.document)
    if (typeof found !== 'object' || found === null) throw new Error(`${value.$ref} leads nowhere`)
    return this.resolve(found as Json)
  }

  /** @returns the mismatches of a value. @param pointer to a schema in the document, without `#/`. */
  findMisfitsOf(pointer: string, value: unknown): string[] {
    let check = this.#compiled.get(pointer)
    if (check === undefined) {
      const found = this.#ajv.getSchema(`api#/${pointer}`)
      if (found === undefined) throw new Error(`there is no schema at ${pointer}`)
      check = found
      this.#compiled.set(pointer, check)
    }
    if (check(value)) return []
    return (check.errors ?? []).map(({ instancePath, message, params }) =>
      `${instancePath || '/'} ${message} ${JSON.stringify(params)}`.trim(),
    )
  }

  /** Like `findMisfitsOf`, with a schema taken from the document. */
  findMisfitsBy(schema: Json, value: unknown): string[] {
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"api#/')) as Json
    if (this.#ajv.validate(absolute, value)) return []
    return [this.#ajv.errorsText()]
  }

  #find(method: string, path: string) {
    for (const { pattern, path: template, names } of this.#routes) {
      const values = pattern.exec(path)?.slice(1)
      const described = values && this.document.paths[template]?.[method.toLowerCase()]
      if (described !== undefined) {
        return { path: template, described, params: Object.fromEntries(names.map((name, at) => [name, values?.[at]])) }
      }
    }
    return undefined
  }

  #misfitsOfNoOperation(request: SentRequest, path: string, answer: SeenAnswer): string[] {
    const { status, headers, text } = answer
    const names = ['X-Request-Id', 'Date', 'Cache-Control']
    if (status === 401) names.push('WWW-Authenticate')
    if (status === 429 || status === 503) names.push('Retry-After')
    const required = Object.fromEntries(names.map((name) => [name, { required: true }]))
    const problems = this.#misfitsOfHeaders(required, answer, true)
    if (status < 400) {
      const isDocument = request.method === 'GET' && DOCUMENTS.test(path) && (status === 200 || status === 304)
      const isPreflight = request.method === 'OPTIONS' && status === 204 && text === ''
      return isDocument || isPreflight
        ? problems
        : [...problems, `${request.method} ${path} is not described, but ${status}`]
    }
    if (request.method === 'HEAD') {
      const known = CODES_OF_NO_OPERATION.some((code) => ERRORS[code].status === status)
      return known && text === '' ? problems : [...problems, `HEAD: ${status} ${text}`]
    }
    if (!isJson(headers)) return [...problems, `an error of type ${headers.get('content-type')}`]
    const body = parse(text)
    const code = (body as { error?: { code?: ErrorCode } } | undefined)?.error?.code
    if (code === undefined || !CODES_OF_NO_OPERATION.includes(code) || ERRORS[code].status !== status) {
      return [...problems, `${status} ${code} where there is no operation`]
    }
    return [...problems, ...this.findMisfitsBy(ERROR_BODY, body)]
  }

  #misfitsOfHeaders(described: DescribedResponse['headers'], { headers }: SeenAnswer, others = false): string[] {
    const known = new Set(Object.keys(described).map((name) => name.toLowerCase()))
    const missing = Object.entries(described).flatMap(([name, reference]) => {
      const { required, schema } = this.resolve(reference)
      const value = headers.get(name)
      if (value === null) return required === true ? [`the header ${name} is missing`] : []
      return schema === undefined
        ? []
        : this.#misfitsOfText(this.resolve(schema as Json), value).map((text) => `${name}: ${text}`)
    })
    const undeclared = [...headers.keys()].filter((name) => !known.has(name) && !TRANSPORT_HEADERS.test(name))
    return [...missing, ...(others ? [] : undeclared.map((name) => `the header ${name} is not described`))]
  }

  #misfitsOfBody(at: string, content: Content, { headers, text }: SeenAnswer): string[] {
    const type = headers.get('content-type')?.split(';')[0] ?? ''
    if (Object.keys(content).length === 0) return type + text === '' ? [] : [`content of type ${type}: ${text}`]
    if (content[type] === undefined) return [`an answer of type ${type}`]
    if (type !== 'application/json') return []
    const body = parse(text)
    if (body === undefined) return [`not JSON: ${text.slice(0, 100)}`]
    return this.findMisfitsOf(`${at}/content/${pointerStep(type)}/schema`, body)
  }

  #misfitsOfRequest({ described, params }: Found, at: string, { target, headers, body }: SentRequest): string[] {
    const problems: string[] = []
    const query = new URLSearchParams(target.split('?')[1] ?? '')
    const parameters = this.parametersOf(described)
    const names = new Set(parameters.filter((one) => one.in === 'query').map(({ name }) => name))
    for (const name of query.keys()) if (!names.has(name)) problems.push(`the query parameter ${name} is not described`)
    for (const { name, in: place, required, schema } of parameters) {
      const value = place === 'path' ? params[name] : place === 'query' ? query.get(name) : headers.get(name)
      if (value === null || value === undefined) {
        if (required) problems.push(`the parameter ${name} is missing`)
      } else problems.push(...this.#misfitsOfText(schema, value).map((text) => `the parameter ${name}: ${text}`))
    }
    if (described.security.length === 1 && !headers.has('authorization')) problems.push('the signature is missing')
    if (described.requestBody !== undefined) {
      problems.push(...this.findMisfitsOf(`${at}/requestBody/content/application~1json/schema`, parse(body ?? '')))
    } else if (body !== undefined && body !== '') problems.push('there is a body')
    return problems
  }

  /** Like `findMisfitsBy` for text, which is read as a number or a boolean if the schema says so. */
  #misfitsOfText(schema: Json, text: string): string[] {
    const value = readAs(schema, text)
    return this.#ajv.validate(schema, value) ? [] : [`${JSON.stringify(value)} ${this.#ajv.errorsText()}`]
  }
}

interface Found {
  readonly path: string
  readonly described: DescribedOperation
  readonly params: Readonly<Record<string, string | undefined>>
}

function readAs({ type }: Json, text: string): unknown {
  if (type === 'integer' || type === 'number') return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

/** The path of a request target as the router sees it. A target with a fragment has no path (RFC 9112, 3.2). */
function pathOf(target: string): string {
  if (target.includes('#')) return ''
  const path = target.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '').split('?')[0] ?? ''
  try {
    return decodeURI(path)
  } catch {
    return ''
  }
}

/** One step of a JSON pointer in a URI fragment. */
function pointerStep(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function isJson(headers: Headers): boolean {
  return headers.get('content-type')?.split(';')[0] === 'application/json'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
