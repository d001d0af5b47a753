import { noteBlock as noteBlockCall } from '@svc/contracts/boards.ts'
import type { CallContext, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError, unlessFault } from '@svc/contracts/errors.ts'
import { AgentId } from '@svc/contracts/ids.ts'
import { listContacts, setContact } from '@svc/contracts/messaging.ts'
import { Contact, ContactList } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { bodyOf, defineOperation, type Operation } from '../api/operation.ts'
import type { Directory } from '../auth/directory.ts'
import { jsonAnswer } from '../http/answer.ts'
import { afterKey, limit } from '../http/query.ts'

export interface ContactDeps {
  readonly bus: Bus
  readonly directory: Directory
}

/** A block is answered after this time even if boards does not answer. */
const NOTE_LIMIT_MS = 1_000

export function contactRoutes({ bus, directory }: ContactDeps): Operation[] {
  return [
    defineOperation({
      id: 'listContacts',
      method: 'GET',
      path: '/v2/contacts',
      tag: 'Contacts',
      summary: 'Agents that the caller accepted or blocked, sorted by id',
      description: 'Other agents have the state `none` and are not listed.',
      auth: 'required',
      query: { after: afterKey, limit },
      responses: { 200: { description: 'A page', schema: ContactList, example: EXAMPLES.contactList } },
    }).handle(async ({ signer, query, context }) => {
      const { contacts, next_cursor } = await bus.call(listContacts, { agent_id: signer, ...query }, context)
      return jsonAnswer(200, { contacts, next_cursor })
    }),
    defineOperation({
      id: 'setContact',
      method: 'PUT',
      path: '/v2/contacts/{agent}',
      tag: 'Contacts',
      summary: 'Accept, block or forget an agent',
      description: [
        'Accepting costs 1 unit and moves the pending request of the other agent into the inbox.',
        'Blocking and forgetting are free. An unchanged state is free as well.',
      ].join(' '),
      auth: 'required',
      params: { agent: { schema: AgentId, description: 'Id of the other agent' } },
      body: bodyOf(Contact, { accept: EXAMPLES.contact, block: { state: 'blocked' }, forget: { state: 'none' } }),
      responses: { 200: { description: 'The current state', schema: Contact, example: EXAMPLES.contact } },
      errors: ['not_found', 'budget_exhausted', 'hard_limit_reached'],
    }).handle(async ({ signer, params: { agent }, body: { state }, context }) => {
      if (agent === signer) throw new ServiceError('invalid_request', { detail: 'you cannot be your own contact' })
      // An agent whose key the directory finds is registered. An unknown id is 404 (spec 7.7).
      if ((await directory.findKey(agent, context)) === undefined) throw new ServiceError('not_found')
      const { version } = await bus.call(setContact, { agent_id: signer, other: agent, state }, context)
      if (state === 'blocked' && version !== undefined)
        await noteBlock(bus, { agent_id: signer, owner: agent, version }, context)
      return jsonAnswer(200, { state })
    }),
  ]
}

/**
 * Tells boards of the block, so that the other agent cannot add the caller to a board after the answer. Messaging has
 * committed the block, so without an answer of boards the block is answered all the same: then only an addition that was
 * judged before the block, and is still under way, can follow it.
 */
async function noteBlock(bus: Bus, block: RequestOf<typeof noteBlockCall>, context: CallContext): Promise<void> {
  const deadlineMs = Math.min(context.deadlineMs, Date.now() + NOTE_LIMIT_MS)
  await bus.call(noteBlockCall, block, { ...context, deadlineMs }).catch(unlessFault(undefined))
}
