/** One request of a differential run. */
import type { CallOptions } from '@svc/conformance/http/agent.ts'

export interface Request {
  readonly method: string
  readonly target: string
  readonly options?: CallOptions
  /** Sent by this agent, whoever the operation names; -1 is nobody. */
  readonly by?: number
  /** The list whose cursor the answer has. */
  readonly list?: string
  /** The message that the request sends. */
  readonly sends?: { readonly id: string; readonly board: number | undefined; readonly envelope: object }
}

export const ABSENT = 'absent-message-0001'
export const ABSENT_BOARD = '0123456789abcdefghijklmn'
/** The base58 text of 32 zero bytes, which no key has as its hash. */
export const ABSENT_AGENT = '1'.repeat(32)

export function get(target: string): Request {
  return { method: 'GET', target }
}

export function put(target: string, body: object): Request {
  return { method: 'PUT', target, options: { body } }
}

export function post(target: string, body: unknown, options: CallOptions = {}): Request {
  return { method: 'POST', target, options: { ...options, body } }
}
