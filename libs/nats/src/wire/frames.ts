/**
 * The wire format of grouped calls. A request message has a line for each item: `<deadline ms> <traceparent> <JSON>`. A reply
 * message has a line for each answered item: `<index>+<JSON>` (answer), `<index>=<meta JSON>\t<text>` (text answer) or
 * `<index>-<ServiceErrorData>` (error). JSON has no raw line feed or tab, so neither needs quoting.
 */
import type { CallContext, TextReply } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'

export function encodeRequest(request: unknown, context: CallContext): string {
  return `${context.deadlineMs} ${context.traceparent} ${JSON.stringify(request)}`
}

/** W3C Trace Context. A trace that breaks it could not be sent on in a header, and would forge a request id in the log. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** @throws SyntaxError or TypeError if the line is malformed. */
export function decodeRequest(line: string): { request: unknown; context: CallContext } {
  const first = line.indexOf(' ')
  const second = line.indexOf(' ', first + 1)
  if (first <= 0 || second <= first) throw new SyntaxError('a request line has three parts')
  const deadlineMs = Number(line.slice(0, first))
  if (!Number.isFinite(deadlineMs)) throw new SyntaxError('a request line begins with its deadline')
  const traceparent = line.slice(first + 1, second)
  if (!TRACEPARENT.test(traceparent)) throw new SyntaxError('the second part of a request line is its trace context')
  return { request: JSON.parse(line.slice(second + 1)), context: { deadlineMs, traceparent } }
}

export function encodeReply(index: number, reply: unknown): string {
  return `${index}+${JSON.stringify(reply)}`
}

export function encodeTextReply(index: number, { meta, text }: TextReply<unknown>): string {
  return `${index}=${JSON.stringify(meta)}\t${text}`
}

export function encodeError(index: number, error: ServiceError): string {
  return `${index}-${JSON.stringify(error.toData())}`
}

/** One decoded line of a reply message. */
export type ReplyLine =
  | { index: number; kind: 'json'; reply: unknown }
  | { index: number; kind: 'text'; reply: TextReply<unknown> }
  | { index: number; kind: 'error'; error: ServiceError }

/** @throws SyntaxError if the line is malformed. */
export function decodeReply(line: string): ReplyLine {
  let at = 0
  while (at < line.length && line.charCodeAt(at) >= 0x30 && line.charCodeAt(at) <= 0x39) at += 1
  const index = Number(line.slice(0, at))
  const rest = at + 1
  if (at === 0) throw new SyntaxError('a reply line begins with the index of its item')
  switch (line[at]) {
    case '+':
      return { index, kind: 'json', reply: JSON.parse(line.slice(rest)) }
    case '=': {
      const tab = line.indexOf('\t', rest)
      if (tab < 0) throw new SyntaxError('a text reply has two parts')
      return { index, kind: 'text', reply: { meta: JSON.parse(line.slice(rest, tab)), text: line.slice(tab + 1) } }
    }
    case '-':
      return { index, kind: 'error', error: ServiceError.fromData(JSON.parse(line.slice(rest))) }
    default:
      throw new SyntaxError('unknown kind of reply line')
  }
}
