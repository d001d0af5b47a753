import type { ServiceName } from '@svc/local/topology.ts'

/**
 * Every failpoint, by the service that reaches it. At a failpoint, a process can die between two durable steps. A test
 * compares this list with the code.
 */
export const FAILPOINTS: Readonly<Partial<Record<ServiceName, readonly string[]>>> = {
  gateway: ['gateway.reserved'],
  identity: [
    'identity.admitted',
    'identity.erasure.stepped',
    'identity.mailbox.pushed',
    'identity.registration.committed',
    'identity.revocation.committed',
    'identity.settings.committed',
    'identity.suspension.committed',
    'identity.suspension.pushed',
    'identity.webhook.closed',
    ...charging('identity'),
  ],
  messaging: ['messaging.appended', 'messaging.contact.locked', ...charging('messaging')],
  boards: charging('boards'),
  budget: ['budget.released', 'budget.reserved', 'budget.settled'],
  webhook: [
    'webhook.attempted',
    'webhook.begun',
    'webhook.claimed',
    'webhook.compared',
    'webhook.finished',
    'webhook.ingested',
    'webhook.reconciled',
    'webhook.resolved',
    ...charging('webhook'),
  ],
}

function charging(owner: string): string[] {
  return ['committed', 'confirmed', 'fenced', 'reserved', 'resolved', 'settled'].map(
    (step) => `charging.${owner}.${step}`,
  )
}
