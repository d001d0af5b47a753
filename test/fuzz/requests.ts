/**
 * Generates requests from the OpenAPI description: valid ones, or invalid in a known way. A generated request is a plan:
 * data that its seed can repeat. Times, nonces and signatures are added when it is sent.
 */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { jsonValues } from '../../libs/envelope/test/json-texts.ts'
import type { Agent, HttpAnswer } from '../support/client/agent.ts'
import { exchange } from '../support/client/raw-http.ts'
import {
  AUTHORIZATION,
  type Draft,
  draft,
  headersOf,
  NONCE,
  TIMESTAMP,
  unixSeconds,
} from '../support/client/signed-request.ts'
import type { ApiDescription, DescribedOperation, Json } from '../support/description/api-description.ts'
import { brokenBytes } from './broken.ts'
import type { Scene } from './scene.ts'
import { valuesOf } from './schema-values.ts'

export interface Plan {
  readonly operation: string
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly signer: 'alice' | 'bob' | 'stranger' | 'revoked'
  readonly signature: keyof typeof SIGNATURES
  readonly contentType: string
  readonly body: Body
  /**
   * `right`: as described. `unknown`: may be valid or not. Any other text: the reason why the request must be refused,
   * whatever is stored.
   */
  readonly verdict: string
}

/** A `json` body is sent as it is. A `keyed` one gets the signer's key, and a `message` gets id, sender and time, when it is sent. */
type Body =
  | { readonly kind: 'none' }
  | { readonly kind: 'json' | 'keyed' | 'message'; readonly value: unknown }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }

/** Ways to sign. Only the first one is valid. */
const SIGNATURES = {
  right: {},
  none: {},
  'another key': {},
  'another path': { signed: { target: '/v2/other' } },
  'another method': { signed: { method: 'TRACE' } },
  'another body': { signed: { body: 'other' } },
  'another authority': { signed: { authority: 'elsewhere.example' } },
  'a line more': { lines: (lines: string) => `${lines}\n` },
  'an old time': { timestamp: -61 },
  'a time to come': { timestamp: 62 },
  'an odd nonce': { nonce: 'abc'.repeat(11) },
  'a short nonce': { nonce: 'ab'.repeat(15) },
  'a nonce of none': { nonce: '' },
  'a broken header': { edit: (headers: Record<string, string>) => ({ ...headers, [AUTHORIZATION]: 'SVC x:y' }) },
  'another scheme': {
    edit: (headers: Record<string, string>) => ({
      ...headers,
      [AUTHORIZATION]: headers[AUTHORIZATION]?.replace('SVC', 'Bearer') ?? '',
    }),
  },
  'a header twice': {
    edit: (headers: Record<string, string>) => ({
      ...headers,
      [AUTHORIZATION]: [headers[AUTHORIZATION] ?? '', headers[AUTHORIZATION] ?? ''],
    }),
  },
  'no time': { edit: ({ [TIMESTAMP]: _, ...headers }: Record<string, string>) => headers },
  'no nonce': { edit: ({ [NONCE]: _, ...headers }: Record<string, string>) => headers },
} as const satisfies Record<string, Partial<Draft>>

const WRONG_SIGNATURES = Object.keys(SIGNATURES).filter(
  (name) => name !== 'right' && name !== 'none',
) as Plan['signature'][]

interface Described {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly operation: DescribedOperation
  readonly needsSignature: boolean
  readonly bodySchema: Json | undefined
}

/** Requests that follow the description. */
export function rightPlans(api: ApiDescription, scene: Scene): fc.Arbitrary<Plan> {
  const plans = operationsOf(api).map((operation) => ({
    weight: operation.name === 'sendMessage' ? 6 : 1,
    arbitrary: rightPlansOf(api, scene, operation),
  }))
  return fc.oneof(...plans)
}

/** Requests that are invalid in at least one way and so must have no effect. */
export function wrongPlans(api: ApiDescription, scene: Scene): fc.Arbitrary<Plan> {
  return fc.oneof(
    ...operationsOf(api).map((operation) =>
      fc
        .tuple(rightPlansOf(api, scene, operation), fc.oneof(...faultsOf(operation)))
        .map(([plan, spoil]) => spoil(plan)),
    ),
  )
}

/** Requests that may be valid or not: with damaged bytes, or with an id of any kind in any place. */
export function strangePlans(api: ApiDescription, scene: Scene): fc.Arbitrary<Plan> {
  const bodies = brokenBytes(fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))))
  const plans = fc.oneof(
    fc
      .tuple(rightPlans(api, scene), bodies)
      .map(([plan, bytes]) => ({ ...plan, body: { kind: 'bytes' as const, bytes } })),
    fc.tuple(rightPlans(api, scene), fc.constantFrom(...idsOf(scene)), fc.nat(5)).map(([plan, id, at]) => {
      const steps = plan.target.split('/')
      steps[3 + (at % 3)] = id
      return { ...plan, target: steps.join('/').replaceAll('//', '/') }
    }),
    fc
      .tuple(rightPlans(api, scene), fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'))
      .map(([plan, method]) => ({ ...plan, method })),
    fc
      .tuple(rightPlans(api, scene), brokenBytes(fc.constant(Buffer.from('/v2/messages?after=1'))))
      .map(([plan, bytes]) => ({
        ...plan,
        // Text that Node's client can send: without white space and control characters.
        target: `/${Buffer.from(bytes)
          .toString('latin1')
          .replaceAll(/[^\x21-\x7e\x80-\xff]/g, '')}`,
      })),
  )
  return plans.map((plan) => ({ ...plan, verdict: 'unknown' }))
}

/** An answer takes at most 5 s (spec 3.17), but may take longer on a busy machine. */
const LIMIT_SECONDS = 15

/** @throws Error if there is no answer within `LIMIT_SECONDS`, or if it does not fit the description. */
export async function sendPlan(scene: Scene, plan: Plan, url: string): Promise<HttpAnswer> {
  const { method, target, signature, contentType } = plan
  const signer = scene[plan.signer]
  const body = bytesOf(plan.body, signer, scene)
  const { timestamp = 0, ...changes } = SIGNATURES[signature] as Partial<Draft>
  const key = signature === 'another key' ? { ...signer.key, secretKey: randomBytes(32) } : signer.key
  const request = draft(Object.assign(Object.create(signer) as Agent, { key }), {
    method,
    target,
    body,
    contentType,
    timestamp: unixSeconds() + timestamp,
    ...changes,
  })
  const headers =
    signature === 'none' ? (body === undefined ? {} : { 'content-type': contentType }) : headersOf(request)
  return withinSeconds(LIMIT_SECONDS, exchange(url, { method, target, headers, body }))
}

async function withinSeconds<T>(seconds: number, pending: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${seconds} s`)), seconds * 1000)
  })
  try {
    return await Promise.race([pending, late])
  } finally {
    clearTimeout(timer)
  }
}

function operationsOf(api: ApiDescription): Described[] {
  return Object.entries(api.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: operation.operationId,
      method: method.toUpperCase(),
      path,
      operation,
      needsSignature: operation.security.length === 1,
      bodySchema: operation.requestBody?.content['application/json']?.schema,
    })),
  )
}

function rightPlansOf(api: ApiDescription, scene: Scene, described: Described): fc.Arbitrary<Plan> {
  const { name, method, path, operation, needsSignature } = described
  const parameters = api.parametersOf(operation)
  const inPath = parameters.filter((one) => one.in === 'path')
  const inQuery = parameters.filter((one) => one.in === 'query')
  return fc
    .record({
      params: fc.record(
        Object.fromEntries(inPath.map(({ name: param, schema }) => [param, paramsOf(api, scene, param, schema)])),
      ),
      query: fc.record(Object.fromEntries(inQuery.map(({ name: param, schema }) => [param, valuesOf(api, schema)])), {
        requiredKeys: [],
      }),
      signer: fc.constantFrom('alice' as const, 'bob' as const, 'stranger' as const),
      signature: needsSignature ? fc.constant('right' as const) : fc.constantFrom('right' as const, 'none' as const),
      contentType: fc.constantFrom(
        'application/json',
        'application/json; charset=utf-8',
        'Application/JSON;charset="UTF-8"',
      ),
      body: bodiesOf(api, scene, described),
    })
    .map(({ params, query, ...rest }) => {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(String(params[param])))
      const pairs = Object.entries(query).map(([param, value]) => `${param}=${encodeURIComponent(String(value))}`)
      const target = pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`
      return { operation: name, method, target, verdict: 'right', ...rest }
    })
}

function paramsOf(api: ApiDescription, scene: Scene, name: string, schema: Json): fc.Arbitrary<unknown> {
  const { alice, bob, stranger, revoked, publicBoard, privateBoard } = scene
  const known: Record<string, string[]> = {
    name: [alice.name, bob.name, revoked.name],
    agent: [alice.id, bob.id, stranger.id, revoked.id],
    board: [publicBoard, privateBoard],
    id: [scene.dm, scene.publicPost, scene.privatePost, scene.hiddenPost],
  }
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...(known[name] ?? [])) },
    { weight: 1, arbitrary: valuesOf(api, schema) },
  )
}

function idsOf({ alice, publicBoard, privateBoard, dm, hiddenPost }: Scene): string[] {
  return [
    alice.id,
    alice.name,
    publicBoard,
    privateBoard,
    dm,
    hiddenPost,
    '..',
    '%2e%2e',
    '%2F',
    '%00',
    '%',
    'a'.repeat(300),
    '%f0%9f%98%80',
  ]
}

function bodiesOf(api: ApiDescription, scene: Scene, { name, bodySchema }: Described): fc.Arbitrary<Body> {
  if (bodySchema === undefined) return fc.constant({ kind: 'none' })
  const values = valuesOf(api, bodySchema)
  if (name === 'sendMessage') {
    const to = fc.constantFrom(
      scene.alice.address,
      scene.bob.address,
      scene.revoked.address,
      `board:${scene.publicBoard}`,
      `board:${scene.privateBoard}`,
    )
    const references = fc.record(
      { reply_to: fc.constantFrom(scene.dm, scene.publicPost), thread_id: fc.constantFrom(scene.dm, scene.hiddenPost) },
      { requiredKeys: [] },
    )
    const messages = fc
      .record({ to, body: jsonValues, type: fc.constantFrom('request', 'event') })
      .chain((head) =>
        fc
          .oneof(fc.constant({}), references)
          .map((rest) => ({ kind: 'message' as const, value: { ...head, ...rest } })),
      )
    return fc.oneof(
      { weight: 2, arbitrary: messages },
      { weight: 1, arbitrary: values.map((value) => ({ kind: 'json' as const, value })) },
    )
  }
  const kinds =
    name === 'createChallenge' || name === 'registerAgent' ? (['keyed', 'json'] as const) : (['json'] as const)
  return fc.tuple(fc.constantFrom(...kinds), values).map(([kind, value]) => {
    if (kind === 'json') return { kind, value }
    const { pubkey: _, ...others } = value as Record<string, unknown>
    return { kind, value: others }
  })
}

type Fault = (plan: Plan) => Plan

function faultsOf({ needsSignature, bodySchema, path }: Described): fc.Arbitrary<Fault>[] {
  const signatures = needsSignature ? [...WRONG_SIGNATURES, 'none' as const] : WRONG_SIGNATURES
  const faults: fc.Arbitrary<Fault>[] = [
    fc
      .constantFrom(...signatures)
      .map((signature) => (plan) => ({ ...plan, signature, verdict: `signed: ${signature}` })),
    ...(needsSignature
      ? [
          fc.constant((plan: Plan) => ({
            ...plan,
            signer: 'revoked' as const,
            signature: 'right' as const,
            verdict: 'signed: revoked',
          })),
        ]
      : []),
    fc
      .constantFrom(
        'undeclared=1',
        'limit=0',
        'limit=101',
        'limit=1e1',
        'limit=01',
        'limit=%20',
        'limit=1&limit=1',
        '%ff=1',
        '__proto__=1',
        'lane=board',
      )
      .map((query) => (plan) => ({ ...plan, target: `${plan.target.split('?')[0]}?${query}`, verdict: query })),
  ]
  if (path.includes('{')) {
    const ids = fc.constantFrom('~', 'a', '%', '%00', '%ff', '..%2f', `${'x'.repeat(200)}!`, '%F0%9F%98%80')
    faults.push(
      ids.map((id) => (plan) => ({
        ...plan,
        target: plan.target.replace(/^(\/v2\/\w+\/)[^/?]+/, `$1${id}`),
        verdict: `names ${id}`,
      })),
    )
  }
  if (bodySchema === undefined) {
    const bodies = fc.constantFrom('{}', 'null', ' ', '\0', '{"a":1}')
    faults.push(
      bodies.map((text) => (plan) => ({
        ...plan,
        body: { kind: 'bytes', bytes: Buffer.from(text) },
        verdict: 'a body',
      })),
    )
    return faults
  }
  const noBodies = fc.constantFrom(
    '',
    ' ',
    '{',
    '[]',
    'null',
    '1',
    '"text"',
    '{"a":1,"a":1}',
    '{"__proto__":{}}',
    '\ufeff{}',
    '{"a":1e400}',
    '{"a":"\\ud800"}',
    '['.repeat(65) + ']'.repeat(65),
    '{}{}',
    '{"a":01}',
    '\xff',
  )
  faults.push(
    noBodies.map((text) => (plan) => ({
      ...plan,
      body: { kind: 'bytes', bytes: Buffer.from(text, text === '\xff' ? 'latin1' : 'utf8') },
      verdict: `the body ${text}`,
    })),
    fc
      .constantFrom('text/plain', 'application/jsonx', 'application/json; charset=latin1', 'multipart/form-data', '')
      .map((contentType) => (plan) => ({ ...plan, contentType, verdict: `of type ${contentType}` })),
    fc
      .constantFrom('undeclared', 'toString', 'constructor', '')
      .map((name) => (plan) => changed(plan, (value) => ({ ...value, [name]: 1 }), `a member ${name}`)),
    // No member of a body has a list of lists, except an envelope's own `body`.
    fc
      .nat(20)
      .map(
        (at) => (plan) =>
          changed(plan, (value) => ({ ...value, [nameAt(value, at)]: [[]] }), 'a member of another type'),
      ),
  )
  return faults
}

function changed(plan: Plan, change: (value: Record<string, unknown>) => unknown, verdict: string): Plan {
  if (plan.body.kind === 'none' || plan.body.kind === 'bytes') return plan
  return { ...plan, body: { ...plan.body, value: change(plan.body.value as Record<string, unknown>) }, verdict }
}

/** Never `body`, which may be anything. A member that is not in the schema would be an additional one. */
function nameAt(value: Record<string, unknown>, at: number): string {
  const names = Object.keys(value).filter((name) => name !== 'body')
  return names[at % Math.max(names.length, 1)] ?? 'undeclared'
}

function bytesOf(body: Body, signer: Agent, scene: Scene): Uint8Array | undefined {
  switch (body.kind) {
    case 'none':
      return undefined
    case 'bytes':
      return body.bytes
    case 'json':
      return Buffer.from(JSON.stringify(body.value))
    case 'keyed':
      return Buffer.from(JSON.stringify({ pubkey: signer.pubkey, ...(body.value as object) }))
    case 'message': {
      const head = { id: randomBytes(12).toString('base64url'), from: signer.id, ts: new Date().toISOString() }
      const sig = Buffer.alloc(64, scene.dm).toString('base64')
      return Buffer.from(JSON.stringify({ ...head, sig, ...(body.value as object) }))
    }
  }
}
