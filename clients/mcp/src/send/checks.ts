/** Refusals that are known before a message is sent. */
import { isCode } from '@svc/sdk/errors.ts'
import type { Mailbox } from '../mailbox.ts'
import { ToolError } from '../output/tool-error.ts'
import { asRefusal, isTrusted, type Recipient, type Standing } from './recipient.ts'

/** @throws ToolError `contacts_only`. */
export function checkRecipient({ policy }: Mailbox, contact: Standing): void {
  if (!policy.contactsOnly || isTrusted(contact)) return
  throw new ToolError(
    'contacts_only',
    'this server sends only to accepted contacts. Nothing was sent. Only the person you work for can accept contacts. Do not look for another way.',
  )
}

/** Without these checks, a person would agree, or a recipient be accepted, for nothing. */
export async function checkBefore(
  { client, senders }: Mailbox,
  { to, replyTo, threadId }: { to: Recipient; replyTo?: string | undefined; threadId?: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  if ('agent' in to && (await senders.check(to.agent.name, signal).catch(asRefusal)).agent.revoked) {
    throw new ToolError('recipient_unavailable', 'the recipient was revoked for ever. Nothing was sent.')
  }
  for (const id of [replyTo, threadId]) {
    if (id === undefined) continue
    await client.message(id, { signal }).catch((error: unknown) => {
      if (!isCode(error, 'not_found')) throw error
      throw new ToolError(
        'invalid_reference',
        'reply_to and thread_id must name a message of this conversation that has not expired. Nothing was sent.',
      )
    })
  }
}
