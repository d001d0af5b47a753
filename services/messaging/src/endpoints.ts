import {
  ackMessage as ackMessageCall,
  exportMessages as exportMessagesCall,
  getMessage as getMessageCall,
  getReceipt as getReceiptCall,
  listContacts as listContactsCall,
  listEvents as listEventsCall,
  listInbox as listInboxCall,
  setContact as setContactCall,
  setMailbox as setMailboxCall,
} from '@svc/contracts/messaging.ts'
import { type Endpoint, handle, handleText } from '@svc/nats/serve.ts'
import type { Deps } from './deps.ts'
import { ackMessage } from './handlers/ack-message.ts'
import { exportMessages } from './handlers/export-messages.ts'
import { getMessage } from './handlers/get-message.ts'
import { getReceipt } from './handlers/get-receipt.ts'
import { listContacts } from './handlers/list-contacts.ts'
import { listEvents } from './handlers/list-events.ts'
import { listInbox } from './handlers/list-inbox.ts'
import { setContact } from './handlers/set-contact.ts'
import { setMailbox } from './handlers/set-mailbox.ts'

/** Every call besides sending. */
export function otherEndpoints(deps: Deps): Endpoint[] {
  return [
    handleText(getMessageCall, (request) => getMessage(deps, request)),
    handle(ackMessageCall, (request) => ackMessage(deps, request)),
    handle(getReceiptCall, (request) => getReceipt(deps, request)),
    handleText(listInboxCall, (request) => listInbox(deps, request)),
    handleText(exportMessagesCall, (request, context) => exportMessages(deps, request, context)),
    handleText(listEventsCall, (request) => listEvents(deps, request)),
    handle(setContactCall, (request, context) => setContact(deps, request, context)),
    handle(listContactsCall, (request) => listContacts(deps, request)),
    handle(setMailboxCall, (request) => setMailbox(deps, request)),
  ]
}
