/** Raw requests over both bindings of A2A, as a client in any language makes them. */
export type Json = { readonly [name: string]: unknown }

export interface Answer {
  readonly status: number
  readonly contentType: string
  /** The whole body. Undefined if it is empty. */
  readonly body: Json | undefined
  /** What the operation returns. Undefined for an error. */
  readonly result: Json | undefined
  readonly error: Failure | undefined
}

interface Failure {
  readonly code: number
  readonly message: string
  /** The `reason` of the ErrorInfo. */
  readonly reason: string | undefined
  readonly details: readonly Json[] | undefined
}

/** An answer that is a stream of server-sent events. */
export interface Stream extends AsyncDisposable {
  readonly status: number
  readonly contentType: string
  /** The data of each event, as sent. */
  readonly events: AsyncGenerator<Json, void, undefined>
  /** The StreamResponse of each event. */
  readonly responses: AsyncGenerator<Json, void, undefined>
}

type Headers = Readonly<Record<string, string>>
type Streaming = 'SendStreamingMessage' | 'SubscribeToTask'

export interface Binding {
  readonly name: 'JSON-RPC' | 'HTTP+JSON'
  call(operation: string, params: Json, headers?: Headers): Promise<Answer>
  /** @throws Refused if the answer is no stream. */
  stream(operation: Streaming, params: Json): Promise<Stream>
  /** Any request: the content type and the body as they are. */
  post(contentType: string, body: string, headers?: Headers): Promise<Answer>
}

/** The server answered a request for a stream with an error. */
export class Refused extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super(`no stream: ${JSON.stringify(answer.body)}`)
    this.answer = answer
  }
}

export class JsonRpc implements Binding {
  readonly name = 'JSON-RPC'
  readonly #url: string
  readonly #headers: Headers

  constructor(url: string, headers: Headers) {
    this.#url = `${url}/rpc`
    this.#headers = headers
  }

  async call(method: string, params: Json, headers: Headers = {}): Promise<Answer> {
    return this.post('application/json', envelope(method, params), headers)
  }

  async stream(method: Streaming, params: Json): Promise<Stream> {
    const abort = new AbortController()
    const response = await this.#fetch('application/json', envelope(method, params), {}, abort.signal)
    return streamOf(response, { abort, read: readRpc, unwrap: ({ result }) => result as Json })
  }

  async post(contentType: string, body: string, headers: Headers = {}): Promise<Answer> {
    return readRpc(await this.#fetch(contentType, body, headers))
  }

  #fetch(contentType: string, body: string, headers: Headers, signal?: AbortSignal): Promise<Response> {
    const all = { 'content-type': contentType, ...this.#headers, ...headers }
    return fetch(this.#url, { method: 'POST', headers: all, body, signal: signal ?? null })
  }
}

/** Method and path of each operation. `{name}` is a parameter; the others go into the query, or into the body of a POST. */
export const ROUTES: Readonly<Record<string, readonly [method: 'GET' | 'POST' | 'DELETE', path: string]>> = {
  SendMessage: ['POST', '/message:send'],
  SendStreamingMessage: ['POST', '/message:stream'],
  GetTask: ['GET', '/tasks/{id}'],
  ListTasks: ['GET', '/tasks'],
  CancelTask: ['POST', '/tasks/{id}:cancel'],
  SubscribeToTask: ['POST', '/tasks/{id}:subscribe'],
  CreateTaskPushNotificationConfig: ['POST', '/tasks/{taskId}/pushNotificationConfigs'],
  GetTaskPushNotificationConfig: ['GET', '/tasks/{taskId}/pushNotificationConfigs/{id}'],
  ListTaskPushNotificationConfigs: ['GET', '/tasks/{taskId}/pushNotificationConfigs'],
  DeleteTaskPushNotificationConfig: ['DELETE', '/tasks/{taskId}/pushNotificationConfigs/{id}'],
  GetExtendedAgentCard: ['GET', '/extendedAgentCard'],
}

export class HttpJson implements Binding {
  readonly name = 'HTTP+JSON'
  readonly #url: string
  readonly #headers: Headers

  constructor(url: string, headers: Headers) {
    this.#url = `${url}/rest`
    this.#headers = headers
  }

  async call(operation: string, params: Json, headers: Headers = {}): Promise<Answer> {
    return readRest(await this.#fetch(...this.#request(operation, params, headers)))
  }

  async stream(operation: Streaming, params: Json): Promise<Stream> {
    const abort = new AbortController()
    const [path, init] = this.#request(operation, params, {})
    const response = await this.#fetch(path, { ...init, signal: abort.signal })
    return streamOf(response, { abort, read: readRest, unwrap: (event) => event })
  }

  async post(contentType: string, body: string, headers: Headers = {}): Promise<Answer> {
    const all = { 'content-type': contentType, ...headers }
    return readRest(await this.#fetch('/message:send', { method: 'POST', headers: all, body }))
  }

  #request(operation: string, params: Json, headers: Headers): [path: string, init: RequestInit] {
    const [method, pattern] = ROUTES[operation] ?? ['POST', `/${operation}`]
    const left = new Map(Object.entries(params))
    const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = left.get(name)
      left.delete(name)
      return encodeURIComponent(String(value))
    })
    if (method !== 'POST') {
      const query = new URLSearchParams([...left].map(([name, value]): [string, string] => [name, String(value)]))
      return [left.size === 0 ? path : `${path}?${query}`, { method, headers }]
    }
    const all = { 'content-type': 'application/json', ...headers }
    return [path, { method, headers: all, body: JSON.stringify(Object.fromEntries(left)) }]
  }

  #fetch(path: string, init: RequestInit): Promise<Response> {
    return fetch(this.#url + path, { ...init, headers: { ...this.#headers, ...(init.headers as Headers) } })
  }
}

function envelope(method: string, params: Json): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

async function readRpc(response: Response): Promise<Answer> {
  const body = await readBody(response)
  const error = body?.error as Json | undefined
  return {
    ...headOf(response),
    body,
    result: error === undefined ? (body?.result as Json) : undefined,
    error: error && failureOf(error, error.data),
  }
}

async function readRest(response: Response): Promise<Answer> {
  const body = await readBody(response)
  const error = body?.error as Json | undefined
  return {
    ...headOf(response),
    body,
    result: response.ok ? body : undefined,
    error: error && failureOf(error, error.details),
  }
}

async function readBody(response: Response): Promise<Json | undefined> {
  const text = await response.text()
  try {
    return text === '' ? undefined : (JSON.parse(text) as Json)
  } catch {
    return { text }
  }
}

function headOf(response: Response): { status: number; contentType: string } {
  return { status: response.status, contentType: response.headers.get('content-type') ?? '' }
}

function failureOf({ code, message }: Json, details: unknown): Failure {
  const list = Array.isArray(details) ? (details as Json[]) : undefined
  const info = list?.find((one) => one['@type'] === 'type.googleapis.com/google.rpc.ErrorInfo')
  return { code: code as number, message: message as string, reason: info?.reason as string | undefined, details: list }
}

interface Reading {
  readonly abort: AbortController
  readonly read: (response: Response) => Promise<Answer>
  readonly unwrap: (event: Json) => Json
}

async function streamOf(response: Response, { abort, read, unwrap }: Reading): Promise<Stream> {
  const head = headOf(response)
  if (!head.contentType.includes('text/event-stream')) throw new Refused(await read(response))
  const events = eventsIn(response)
  async function* unwrapped(): AsyncGenerator<Json, void, undefined> {
    for await (const event of events) yield unwrap(event)
  }
  return {
    ...head,
    events,
    responses: unwrapped(),
    async [Symbol.asyncDispose]() {
      abort.abort()
    },
  }
}

/** The `data` lines of server-sent events. */
async function* eventsIn(response: Response): AsyncGenerator<Json, void, undefined> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice('data: '.length))
      if (data.length > 0) yield JSON.parse(data.join('\n')) as Json
    }
  }
}
