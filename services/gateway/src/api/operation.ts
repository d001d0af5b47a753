import type { IncomingHttpHeaders } from 'node:http'
import type { Static, TObject, TSchema, TString } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { CallContext } from '@svc/contracts/define.ts'
import { type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import type { JsonOutline, ParsedJson } from '@svc/envelope/i-json.ts'
import type { Answer, DocumentAnswer, TextAnswer } from '../http/answer.ts'
import { parseJsonBody, type RequestBody, refuseBody } from '../http/body.ts'
import type { RequestKind } from '../http/load/load.ts'
import { type QueryOf, type QueryRules, readHeaders, readQuery } from '../http/query.ts'
import { faultText } from './body-faults.ts'
import type { Tag } from './tags.ts'

/**
 * An operation of the API. The route, the checks of the request and the OpenAPI description are all built from this one
 * declaration, so they cannot differ from each other.
 */
export interface Operation extends OperationDocs {
  /** Where the key of a signature comes from. `body`: from `pubkey` in the body, which need not be registered yet (spec 3.8). */
  readonly keyFrom: 'directory' | 'body'
  /** Allows a revoked signer, so that it can repeat its own registration (spec 5.6). */
  readonly allowRevoked: boolean
  /** Counts against the rate of challenges and registrations, in addition to the general rate (spec 3.15). */
  readonly isRegistration: boolean
  /** Answers a page or opens a stream, which costs much more than other requests (bulk-turns.ts). */
  readonly isBulk: boolean
  /** Answers a document, which is large and the same for every caller. */
  readonly isDocument: boolean
  /**
   * Checks route, query and body, in this order, without calling any service. @throws ServiceError for the first fault.
   * @returns the function that does the work.
   */
  readonly prepare: (input: RawInput) => Work
}

/**
 * Does the work of one request. `signer` is not null if `auth` is `required`. Before `admitted` is
 * fulfilled, the work has no effect that outlives a refusal: a reservation that it made is given back or expires. The pipeline sends no answer before that either. If `admitted` is rejected, the pipeline
 * throws its error instead of the work's.
 */
export type Work = (signer: string | null, context: CallContext, admitted: Promise<void>) => Promise<Answer>

/** The part of an operation that the OpenAPI description shows. */
interface OperationDocs {
  /** The operation's name in the OpenAPI description and in generated clients. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As in the specification: `/v2/messages/{id}`. */
  readonly path: string
  readonly tag: Tag
  readonly summary: string
  readonly description?: string
  /** Whether a signature is required. If it is optional, one that is sent must still be valid (spec 3.1). */
  readonly auth: 'optional' | 'required'
  readonly params: Readonly<Record<string, ParamRule>>
  readonly query: QueryRules
  /** Headers that the operation reads besides those of a signature, in lower case. */
  readonly headers?: QueryRules
  readonly body: BodyDocs | undefined
  /** By status. */
  readonly responses: Readonly<Record<number, ResponseDocs>>
  /** Error codes of this operation, besides the common ones of its kind, which openapi.ts adds. */
  readonly errors: readonly ErrorCode[]
}

interface ParamRule {
  readonly schema: TString
  readonly description: string
}

interface BodyDocs {
  readonly schema: TSchema
  readonly examples: Readonly<Record<string, unknown>>
}

export interface ResponseDocs {
  readonly description: string
  /** Media type; JSON by default. For any other type, the schema describes the text. */
  readonly type?: string
  /** Absent if the answer has no body. */
  readonly schema?: TSchema
  readonly example?: unknown
  readonly headers?: Readonly<Record<string, HeaderDocs>>
}

/** A header that every answer of its status has. */
interface HeaderDocs {
  readonly schema: TSchema
  readonly description: string
  readonly example: string | number
}

/** A request as it arrived, before any check. */
export interface RawInput {
  /** Decoded segments of the path. */
  readonly params: Readonly<Record<string, string>>
  /** The raw request target. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: RequestBody
  /** The address that the request counts for (spec 3.16). */
  readonly clientAddress: () => string
}

/** How a body is read. */
export interface BodyRule<B> extends BodyDocs {
  /** Names of the members that a body may have. */
  readonly names: ReadonlySet<string>
  /**
   * @throws ServiceError if the body is invalid, and always for an outline, because only a body with too many members
   * is read as one.
   */
  readonly read: (parsed: ParsedJson | JsonOutline) => B
}

/** The declaration of an operation. Everything else about the operation follows from it. */
interface Declaration extends Omit<OperationDocs, 'params' | 'query' | 'body' | 'errors'> {
  readonly keyFrom?: 'body'
  readonly allowRevoked?: true
  readonly isRegistration?: true
  /** By default, an operation is bulk if it has pages. */
  readonly isBulk?: true
  readonly params?: Readonly<Record<string, ParamRule>>
  readonly query?: QueryRules
  readonly body?: BodyRule<unknown>
  readonly errors?: readonly ErrorCode[]
}

/** A request to an operation, whose parts have been checked as the operation declares them. */
interface RequestTo<D extends Declaration> {
  readonly signer: D['auth'] extends 'required' ? string : string | null
  readonly params: { readonly [Name in keyof D['params']]: string }
  readonly query: ReadBy<D['query']>
  readonly headers: ReadBy<D['headers']>
  readonly body: D['body'] extends BodyRule<infer Body> ? Body : undefined
  readonly clientAddress: () => string
  readonly context: CallContext
}

type ReadBy<Rules> = Rules extends QueryRules ? QueryOf<Rules> : Record<never, never>

/** A request that is still being admitted. It may yet be refused. */
interface EarlyRequest<D extends Declaration> extends RequestTo<D> {
  /** As in `Work`. */
  readonly admitted: Promise<void>
}

type Handle<Request, A extends Answer = TextAnswer> = (request: Request) => Promise<A>

/** An operation without its work. */
interface Declared<D extends Declaration> {
  /** Does the work of an admitted request. An error that it throws becomes the answer. */
  handle(work: Handle<RequestTo<D>>): Operation
  /** Begins while the request is being admitted. The work awaits `admitted` before its first lasting effect. */
  handleEarly(work: Handle<EarlyRequest<D>>): Operation
  /** Answers a document. */
  serve(work: Handle<RequestTo<D>, DocumentAnswer>): Operation
}

/** A misspelled name is a type error. */
type Exact<D> = D & Record<Exclude<keyof D, keyof Declaration>, never>

export function defineOperation<const D extends Declaration>(declaration: Exact<D>): Declared<D> {
  return {
    handle: (work) => operationOf<D>(declaration, whenAdmitted(work)),
    handleEarly: (work) => operationOf<D>(declaration, work),
    serve: (work) => ({ ...operationOf<D>(declaration, whenAdmitted(work)), isDocument: true }),
  }
}

function whenAdmitted<D extends Declaration>(work: Handle<RequestTo<D>, Answer>): Handle<EarlyRequest<D>, Answer> {
  return async ({ admitted, ...request }) => {
    await admitted
    return work(request)
  }
}

function operationOf<D extends Declaration>(declaration: D, work: Handle<EarlyRequest<D>, Answer>): Operation {
  const { keyFrom = 'directory', allowRevoked = false, isRegistration = false, errors = [], body } = declaration
  const { params = {}, query = {}, headers = {} } = declaration
  const checks = Object.entries(params).map(([name, { schema }]) => [name, new RegExp(schema.pattern ?? '')] as const)
  return {
    ...declaration,
    keyFrom,
    allowRevoked,
    isRegistration,
    isBulk: declaration.isBulk ?? Object.hasOwn(query, 'limit'),
    isDocument: false,
    params,
    query,
    headers,
    body,
    errors,
    prepare(input) {
      // A request target has no fragment (RFC 9112, 3.2), but the router would ignore one.
      if (input.target.includes('#')) throw new ServiceError('not_found')
      for (const [name, pattern] of checks) {
        // A segment that is not a valid id names no resource (spec 3.11).
        if (!pattern.test(input.params[name] ?? '')) throw new ServiceError('not_found')
      }
      const checked = {
        params: input.params,
        query: readQuery(query, input.target),
        headers: readHeaders(headers, input.headers),
        body: readBodyBy(body, input.body),
        clientAddress: input.clientAddress,
      }
      // The cast is safe: the parts were read by the rules that the type names. If a signature is required, the pipeline has
      // refused unsigned requests.
      return (signer, context, admitted) =>
        work({ ...checked, signer, context, admitted } as unknown as EarlyRequest<D>)
    },
  }
}

/** A body that must match a closed schema. If it does not, the answer is `invalid_request` with the member and what it accepts. */
export function bodyOf<S extends TObject>(schema: S, examples: BodyDocs['examples']): BodyRule<Static<S>> {
  const compiled = TypeCompiler.Compile(schema)
  return {
    schema,
    examples,
    names: new Set(Object.keys(schema.properties)),
    read({ value }) {
      if (compiled.Check(value)) return value
      throw new ServiceError('invalid_request', { detail: faultText(compiled.Errors(value).First(), schema) })
    },
  }
}

/** The kind of a request to the operation. A signed health check counts as a read, because it costs a verification and a nonce. */
export function kindOf({ id, method, isDocument }: Operation, { authorization }: IncomingHttpHeaders): RequestKind {
  if (id === 'getHealth' && authorization === undefined) return 'probe'
  if (isDocument) return 'document'
  return method === 'GET' ? 'read' : 'write'
}

function readBodyBy<B>(rule: BodyRule<B> | undefined, body: RequestBody): B | undefined {
  if (rule !== undefined) return rule.read(parseJsonBody(body, rule.names))
  refuseBody(body)
  return undefined
}
