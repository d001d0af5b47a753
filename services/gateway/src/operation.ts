import type { IncomingHttpHeaders } from 'node:http'
import type { Static, TObject, TSchema, TString } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import type { CallContext } from '@svc/contracts/define.ts'
import { type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import type { JsonOutline, ParsedJson } from '@svc/envelope/i-json.ts'
import type { Answer } from './answer.ts'
import { parseJsonBody, type RequestBody, refuseBody } from './body.ts'
import { type QueryOf, type QueryRules, readHeaders, readQuery } from './query.ts'

/**
 * An operation of the API: one declaration, of which the route, the checks of what comes in, and the OpenAPI description are
 * made, so that none can differ from the others.
 */
export interface Operation extends OperationDocs {
  /** Where the key of a signature comes from: `body` is the `pubkey` of a key that may not be registered yet (spec 3.8). */
  readonly keyFrom: 'directory' | 'body'
  /** An identical repeat of a registration is answered also when the identity was revoked since (spec 5.6). */
  readonly allowRevoked: boolean
  /** Counts against the rate of challenges and registrations as well (spec 3.15). */
  readonly isRegistration: boolean
  /**
   * Checks route, query and body, in this order, without asking anybody. @throws ServiceError for what is wrong with them.
   * @returns what does the work.
   */
  readonly prepare: (input: RawInput) => Work
}

/**
 * Does the work of one request. `signer` is not null where `auth` is `required`. The work has no lasting effect before `admitted`
 * is fulfilled. The pipeline sends no answer before that either, and throws what `admitted` is rejected with.
 */
export type Work = (signer: string | null, context: CallContext, admitted: Promise<void>) => Promise<Answer>

/** What the OpenAPI description says of an operation. */
export interface OperationDocs {
  /** Its name in the OpenAPI description and in generated clients. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As in the specification: `/v2/messages/{id}`. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Whether a signature is needed; one that is supplied must be valid all the same (spec 3.1). */
  readonly auth: 'optional' | 'required'
  readonly params: Readonly<Record<string, ParamRule>>
  readonly query: QueryRules
  /** Headers that it looks at besides those of a signature, in lower case. */
  readonly headers?: QueryRules
  readonly body: BodyDocs | undefined
  /** By status. */
  readonly responses: Readonly<Record<number, ResponseDocs>>
  /** Codes that this operation has besides those that its kind has (openapi.ts knows these). */
  readonly errors: readonly ErrorCode[]
}

export interface ParamRule {
  readonly schema: TString
  readonly description: string
}

export interface BodyDocs {
  readonly schema: TSchema
  readonly examples: Readonly<Record<string, unknown>>
}

export interface ResponseDocs {
  readonly description: string
  /** JSON where nothing is said; the schema of any other type is that of its text. */
  readonly type?: string
  readonly schema: TSchema
  readonly example: unknown
  readonly headers?: Readonly<Record<string, HeaderDocs>>
}

/** A header that every answer of its status has. */
export interface HeaderDocs {
  readonly schema: TSchema
  readonly description: string
  readonly example: string | number
}

/** A request as it came, before anything in it is looked at. */
export interface RawInput {
  /** Decoded segments of the path. */
  readonly params: Readonly<Record<string, string>>
  /** The raw request target. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: RequestBody
}

/** How a body is read. */
export interface BodyRule<B> extends BodyDocs {
  /** Names of the members that a body may have. */
  readonly names: ReadonlySet<string>
  /** @throws ServiceError; for every outline, because it is of a body that is too large. */
  readonly read: (parsed: ParsedJson | JsonOutline) => B
}

/** A request whose parts have been checked. */
export interface OperationRequest<
  Auth,
  Params extends string,
  Query extends QueryRules,
  Body,
  Headers extends QueryRules = Record<never, never>,
> {
  readonly signer: Auth extends 'required' ? string : string | null
  readonly params: Readonly<Record<Params, string>>
  readonly query: QueryOf<Query>
  readonly headers: QueryOf<Headers>
  readonly body: Body
  readonly context: CallContext
}

export interface OperationDefinition<
  Auth extends 'optional' | 'required',
  Params extends string,
  Query extends QueryRules,
  Body,
  Ready,
  Headers extends QueryRules,
> extends Omit<OperationDocs, 'auth' | 'params' | 'query' | 'headers' | 'body' | 'errors'> {
  readonly auth: Auth
  readonly keyFrom?: 'body'
  readonly allowRevoked?: true
  readonly isRegistration?: true
  readonly params?: Readonly<Record<Params, ParamRule>>
  readonly query?: Query
  readonly headers?: Headers
  readonly body?: BodyRule<Body>
  readonly errors?: readonly ErrorCode[]
  /**
   * Gets ready for `handle` while the request is still being admitted, and so for one that may be refused: it has no effect
   * that would not end by itself. What it throws is not answered; `handle` finds `ready` undefined then.
   */
  readonly getReady?: (request: OperationRequest<Auth, Params, Query, Body, Headers>) => Promise<Ready>
  /** Undoes what `getReady` did for a request that was not admitted, before that is answered. */
  readonly undo?: (ready: Ready, request: OperationRequest<Auth, Params, Query, Body, Headers>) => Promise<void>
  /** Does the work; what it throws is answered. */
  readonly handle: (
    request: OperationRequest<Auth, Params, Query, Body, Headers> & { ready: Ready | undefined },
  ) => Promise<Answer>
}

export function defineOperation<
  Auth extends 'optional' | 'required',
  Params extends string = never,
  Query extends QueryRules = Record<never, never>,
  Body = undefined,
  Ready = never,
  Headers extends QueryRules = Record<never, never>,
>(definition: OperationDefinition<Auth, Params, Query, Body, Ready, Headers>): Operation {
  const {
    getReady,
    undo,
    handle,
    keyFrom = 'directory',
    allowRevoked = false,
    isRegistration = false,
    errors = [],
    ...docs
  } = definition
  const params: Readonly<Record<string, ParamRule>> = definition.params ?? {}
  const query: QueryRules = definition.query ?? {}
  const headers: QueryRules = definition.headers ?? {}
  const { body } = definition
  const checks = Object.entries(params).map(([name, { schema }]) => [name, new RegExp(schema.pattern ?? '')] as const)
  return {
    ...docs,
    keyFrom,
    allowRevoked,
    isRegistration,
    params,
    query,
    headers,
    body,
    errors,
    prepare(input) {
      // A fragment is no part of a request target (RFC 9112, 3.2), though the router would look past it.
      if (input.target.includes('#')) throw new ServiceError('not_found')
      for (const [name, pattern] of checks) {
        // An id that cannot be one names nothing (spec 3.11).
        if (!pattern.test(input.params[name] ?? '')) throw new ServiceError('not_found')
      }
      const checked = {
        params: input.params as Record<Params, string>,
        query: readQuery(query, input.target) as QueryOf<Query>,
        headers: readHeaders(headers, input.headers) as QueryOf<Headers>,
        // Body is undefined where no rule is declared, by its default.
        body: readBodyBy(body, input.body) as Body,
      }
      return async (signer, context, admitted) => {
        // The pipeline lets nobody through without a signature where one is required.
        const request = {
          ...checked,
          signer: signer as OperationRequest<Auth, Params, Query, Body, Headers>['signer'],
          context,
        }
        const getting = getReady?.(request).catch(() => undefined)
        try {
          await admitted
        } catch (error) {
          const ready = await getting
          if (ready !== undefined) await undo?.(ready, request).catch(() => undefined)
          throw error
        }
        return handle({ ...request, ready: await getting })
      }
    },
  }
}

/** A body that must fit a closed schema: `invalid_request` where it does not, saying where. */
export function bodyOf<S extends TObject>(schema: S, examples: BodyDocs['examples']): BodyRule<Static<S>> {
  const compiled = TypeCompiler.Compile(schema)
  return {
    schema,
    examples,
    names: new Set(Object.keys(schema.properties)),
    read({ value }) {
      if (compiled.Check(value)) return value
      const fault = compiled.Errors(value).First()
      const where = fault === undefined || fault.path === '' ? 'the body' : `the body at ${shorten(fault.path)}`
      throw new ServiceError('invalid_request', { detail: `${where}: ${shorten(faultText(fault))}` })
    },
  }
}

/** Of a text whose length counts code points TypeBox knows no more than that it is one (libs/contracts, textOf). */
function faultText(fault: ValueError | undefined): string {
  if (fault?.type !== ValueErrorType.Kind) return fault?.message ?? 'another form'
  const { minLength = 0, maxLength } = fault.schema
  return `Expected text of ${minLength} to ${maxLength} characters`
}

function readBodyBy<B>(rule: BodyRule<B> | undefined, body: RequestBody): B | undefined {
  if (rule !== undefined) return rule.read(parseJsonBody(body, rule.names))
  refuseBody(body)
  return undefined
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
