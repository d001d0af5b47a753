import type { TSchema } from '@sinclair/typebox'
import { ERRORS, type ErrorCode } from '@svc/contracts/errors.ts'
import * as ids from '@svc/contracts/ids.ts'
import { LIMITS, SERVICE } from '@svc/contracts/limits.ts'
import { EXAMPLES } from './examples.ts'
import type { Operation, ResponseDocs } from './operation.ts'
import { type Json, SchemaRefs } from './schema-refs.ts'
import { TAGS } from './tags.ts'

/** Builds the OpenAPI 3.1 description from the declarations of the operations, so that it cannot differ from them. */
export function describeApi(operations: readonly Operation[]): Json {
  const schemas = new SchemaRefs()
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(operation, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: SERVICE.title,
      version: SERVICE.version,
      description: [
        `${SERVICE.description}.`,
        'Times are Unix seconds in UTC. Bodies are I-JSON (RFC 7493). Objects reject undeclared members, and operations reject',
        'undeclared query parameters.',
      ].join(' '),
    },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] })),
    paths,
    components: {
      schemas: schemas.definitions(),
      securitySchemes: { SVC1: SECURITY_SCHEME },
      parameters: PARAMETERS,
      headers: HEADERS,
    },
  }
}

/** An `http` scheme would have to be one of IANA's; generators and validators do not know ours. */
const SECURITY_SCHEME = {
  type: 'apiKey',
  in: 'header',
  name: 'Authorization',
  description: [
    'A request signature: `Authorization: SVC <AGENT_ID>:<BASE64_ED25519_SIGNATURE>` with X-SVC-Timestamp and X-SVC-Nonce.',
    'The signature covers the UTF-8 bytes of seven lines joined by line feeds, with none after the last: `SVC1`, the public',
    'authority from /.well-known/agent.json, the method in upper case, path and query as sent, the timestamp, the nonce, and the',
    'lower-case hex SHA-256 of the body. If a signature is optional, one that is sent must still be valid.',
  ].join(' '),
}

const PARAMETERS = {
  Timestamp: headerParameter('X-SVC-Timestamp', {
    schema: { type: 'string', pattern: '^(?:0|[1-9][0-9]{0,14})$', maxLength: 15 },
    description: `Unix seconds, at most ${LIMITS.httpToleranceSeconds} from the server's clock. Required with a signature.`,
    example: '1767268800',
  }),
  Nonce: headerParameter('X-SVC-Nonce', {
    schema: {
      type: 'string',
      pattern: `^(?:[0-9a-fA-F]{2}){${LIMITS.httpNonceHexMin / 2},${LIMITS.httpNonceHexMax / 2}}$`,
      minLength: LIMITS.httpNonceHexMin,
      maxLength: LIMITS.httpNonceHexMax,
    },
    description: 'Random hex, new for each request. Required with a signature.',
    example: '00112233445566778899aabbccddeeff',
  }),
}

/** The headers of answers, to which the description of each answer refers. */
const HEADERS = {
  RequestId: header({
    description: 'Identifies the request in the logs of the service',
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$', maxLength: 32 },
    example: '4bf92f3577b34da6a3ce929d0e0e4736',
  }),
  Date: header({
    description: "The server's clock, so that a client can correct its own (RFC 9110, 6.6.1)",
    schema: {
      type: 'string',
      pattern: '^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$',
      maxLength: 29,
    },
    example: 'Thu, 01 Jan 2026 12:00:00 GMT',
  }),
  CacheControl: header({
    description: 'Caches must not store any answer',
    schema: { type: 'string', const: 'no-store' },
    example: 'no-store',
  }),
  RetryAfter: header({
    description: 'Seconds to wait at least; if a limit of the budget is reached, the time to the next UTC midnight',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 86_400 },
    example: 1,
  }),
  Authenticate: header({
    description: 'The scheme that signatures use',
    schema: { type: 'string', const: 'SVC' },
    example: 'SVC',
  }),
}

function header(rest: Json): Json {
  return { required: true, ...rest }
}

function headerParameter(name: string, rest: Json): Json {
  return { name, in: 'header', ...rest }
}

function describe(operation: Operation, schemas: SchemaRefs): Json {
  const { id, tag, summary, description, auth, body } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: auth === 'required' ? [{ SVC1: [] }] : [{}, { SVC1: [] }],
    parameters: describeParameters(operation, schemas),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: jsonContent(schemas.of(body.schema), Object.entries(body.examples)),
          },
        }),
    responses: describeResponses(operation, schemas),
  }
}

function describeParameters({ params, query, headers = {} }: Operation, schemas: SchemaRefs): Json[] {
  return [
    ...Object.entries(params).map(([name, { schema, description }]) => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: schemas.of(schema),
      example: exampleOfId(schema),
    })),
    ...Object.entries(query).map(([name, { schema, description, example }]) => ({
      name,
      in: 'query',
      description,
      schema: schemas.of(schema),
      example,
    })),
    ...Object.entries(headers).map(([name, { schema, description, example }]) => ({
      name: headerName(name),
      in: 'header',
      description,
      schema: schemas.of(schema),
      example,
    })),
    ...Object.keys(PARAMETERS).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ]
}

/** `last-event-id` → `Last-Event-ID`, as the specification writes header names. */
function headerName(name: string): string {
  const words = name.split('-').map((word) => (word === 'id' ? 'ID' : word.slice(0, 1).toUpperCase() + word.slice(1)))
  return words.join('-')
}

/** The example of an id in a path. */
function exampleOfId(schema: TSchema): string {
  switch (schema) {
    case ids.AgentId:
      return EXAMPLES.agent.agent_id
    case ids.AgentName:
      return EXAMPLES.agent.name
    case ids.MessageId:
      return EXAMPLES.signedEnvelope.id
    case ids.BoardId:
      return '0k8vs2m4x1c00112233445566778899'
    default:
      throw new Error('no example: a path parameter must be an agent id, an agent name, a message id or a board id')
  }
}

function describeResponses(operation: Operation, schemas: SchemaRefs): Json {
  const codes = Map.groupBy(codesOf(operation), (code) => ERRORS[code].status as number)
  const statuses = new Set([...Object.keys(operation.responses).map(Number), ...codes.keys()])
  const entries = [...statuses]
    .sort((a, b) => a - b)
    .map((status) => {
      const declared = operation.responses[status]
      return [String(status), describeResponse(status, declared, codes.get(status) ?? [], schemas)] as const
    })
  return Object.fromEntries(entries)
}

/** A status can have a declared answer, errors, or both (503 of the health check). */
function describeResponse(
  status: number,
  declared: ResponseDocs | undefined,
  codes: readonly ErrorCode[],
  schemas: SchemaRefs,
): Json {
  const forms: Json[] = []
  const examples: [string, unknown][] = []
  if (declared !== undefined && declared.schema === undefined) {
    return { description: declared.description, headers: describeHeaders(status, declared, schemas), content: {} }
  }
  if (declared?.schema !== undefined && declared.type !== undefined) {
    const content = { schema: schemas.of(declared.schema), examples: { answer: { value: declared.example } } }
    const headers = describeHeaders(status, declared, schemas)
    return { description: declared.description, headers, content: { [declared.type]: content } }
  }
  if (declared?.schema !== undefined) {
    forms.push(schemas.of(declared.schema))
    examples.push(['answer', declared.example])
  }
  if (codes.length > 0) {
    forms.push(errorBody(codes))
    for (const code of codes) examples.push([code, { error: { code, message: ERRORS[code].message } }])
  }
  const [form] = forms
  return {
    description: declared?.description ?? codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join('; '),
    headers: describeHeaders(status, declared, schemas),
    content: jsonContent(forms.length === 1 && form !== undefined ? form : { anyOf: forms }, examples),
  }
}

/** Written out for each status, so that a generated client has the codes of this answer as a type of its own. */
function errorBody(codes: readonly ErrorCode[]): Json {
  const message = { type: 'string', maxLength: 1_000 }
  const error = closedObject({ code: { type: 'string', enum: codes }, message })
  return closedObject({ error })
}

function closedObject(properties: Json): Json {
  return { type: 'object', additionalProperties: false, required: Object.keys(properties), properties }
}

/** A declared header replaces a common one of this name. */
function describeHeaders(status: number, declared: ResponseDocs | undefined, schemas: SchemaRefs): Json {
  const entries = Object.entries(declared?.headers ?? {}).map(([name, { schema, description, example }]) => [
    name,
    header({ schema: schemas.of(schema, name), description, example }),
  ])
  return { ...commonHeaders(status), ...Object.fromEntries(entries) }
}

function commonHeaders(status: number): Json {
  return {
    'X-Request-Id': { $ref: '#/components/headers/RequestId' },
    Date: { $ref: '#/components/headers/Date' },
    'Cache-Control': { $ref: '#/components/headers/CacheControl' },
    ...(status === 401 ? { 'WWW-Authenticate': { $ref: '#/components/headers/Authenticate' } } : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } : {}),
  }
}

/** All error codes of an operation: the common ones of its kind, and its own. */
function codesOf({ keyFrom, allowRevoked, body, errors }: Operation): ErrorCode[] {
  const codes: ErrorCode[] = [
    'invalid_request',
    ...(body === undefined ? [] : (['invalid_json', 'unsupported_media_type'] as const)),
    // Also if the signature is optional, because a signature that is sent is checked.
    'unauthenticated',
    'timestamp_out_of_range',
    ...(keyFrom === 'directory' ? (['signer_unknown'] as const) : []),
    'signature_invalid',
    ...(allowRevoked ? [] : (['signer_revoked'] as const)),
    'forbidden', // every operation, because an operator may suspend the signer (spec 12.4)
    'nonce_replayed',
    ...errors,
    'body_too_large',
    'rate_limited',
    'internal',
    'unavailable',
  ]
  return [...new Set(codes)]
}

function jsonContent(schema: Json, examples: [string, unknown][]): Json {
  const shown = examples.map(([name, value]) => [name, { value }])
  return { 'application/json': { schema, examples: Object.fromEntries(shown) } }
}
