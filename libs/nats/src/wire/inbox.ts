/**
 * Subjects of answers: `_INBOX_<caller>.<callee>.<process>.<token>`. A caller's user receives all of its inboxes. A callee's
 * user may publish only to those with its own name (deploy/nats/users.conf), so no service can answer in place of another. The
 * token is random, so whoever may publish there nevertheless still has to have seen the call.
 *
 * Operators share the caller `admin`, and each receives only `_INBOX_admin.<callee>.<operator>.>`.
 */
import { randomUUID } from 'node:crypto'
import { nuid } from 'nats'
import type { Nats } from '../connect.ts'

/** The inboxes of one listener. */
interface Inbox {
  /** Matches the reply subjects of all callees. */
  readonly pattern: string
  /** A new reply subject. Its token has 122 random bits and costs less than 1 µs. */
  replyFrom(callee: string): string
}

export function openInbox({ inboxPrefix: prefix, operator }: Pick<Nats, 'inboxPrefix' | 'operator'>): Inbox {
  const process = operator === undefined ? nuid.next() : `${operator}.${nuid.next()}`
  return {
    pattern: `${prefix}.*.${process}.*`,
    replyFrom: (callee) => `${prefix}.${callee}.${process}.${randomUUID()}`,
  }
}

/** The service that answers a subject: `svc.<service>.<call>` or `admin.<service>.<call>`. */
export function calleeOf(subject: string): string {
  return subject.split('.')[1] ?? ''
}

/**
 * Whether a service may answer on a subject. A caller chooses the subject, and the service may publish to more subjects than the
 * caller. Without this check the caller could have it write events, or calls.
 */
export function isReplyTo(callee: string): (subject: string | undefined) => boolean {
  const form = new RegExp(`^_INBOX(?:_\\w+)?\\.${callee}(?:\\.[\\w-]+)+$`)
  return (subject = '') => form.test(subject)
}
