import { createHash } from 'node:crypto'
import { SERVICE } from '@svc/contracts/limits.ts'
import { webhookHeaders } from '@svc/svc1/node/webhook-headers.ts'

interface Delivery {
  readonly configuration: string
  readonly messageId: string
  /** The text of the envelope as it was received. */
  readonly body: string
}

/** The headers of one attempt (spec 10.5). Firewalls answer 403 to requests without `User-Agent`. */
export function deliveryHeaders(delivery: Delivery, secret: Uint8Array, nowMs: number): Record<string, string> {
  const { messageId, body } = delivery
  return {
    'content-type': 'application/json',
    'user-agent': `${SERVICE.name}/${SERVICE.version}`,
    ...webhookHeaders({ deliveryId: deliveryId(delivery), messageId, body, nowMs }, secret),
  }
}

/**
 * Identifies a delivery, in 32 hex digits. It is the same for every attempt of a job (spec 10.5), and for a job that
 * had to be made again, because it depends only on message and configuration.
 */
export function deliveryId({ configuration, messageId }: Omit<Delivery, 'body'>): string {
  return createHash('sha256').update(`${configuration}:${messageId}`).digest('hex').slice(0, 32)
}
