import type { CallContext } from '@svc/contracts/define.ts'
import { setSuspension as setMailboxSuspension } from '@svc/contracts/messaging.ts'
import type { SuspensionChange } from '@svc/contracts/suspension.ts'
import { setSuspension as setWebhookSuspension } from '@svc/contracts/webhook.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { IdentityDeps } from '../deps.ts'
import type { SuspensionRecord } from '../domain/suspension.ts'
import { markSuspensionPushed } from '../store/suspensions.ts'

/** Some services have not confirmed a change. The `push-suspensions` loop repeats it. */
export class Unconfirmed extends Error {
  override name = 'Unconfirmed'
  /** The names of the services. */
  readonly services: readonly string[]

  constructor(services: readonly string[], options: ErrorOptions) {
    super(`not confirmed by ${services.join(' and ')}`, options)
    this.services = services
  }
}

/**
 * Tells messaging, which has the streams closed, and webhook, which pauses deliveries; and records that both know. Neither waits for
 * the other. Pushes of one agent may be repeated or reordered: the services keep the highest version.
 * @throws Unconfirmed
 */
export async function pushSuspension(
  { bus, database }: Pick<IdentityDeps, 'bus' | 'database'>,
  { agent_id, suspension, suspension_version: version }: SuspensionRecord,
  context: CallContext,
): Promise<void> {
  const change: SuspensionChange = { agent_id, suspension, version }
  const calls = { messaging: setMailboxSuspension, webhook: setWebhookSuspension }
  const told = await Promise.all(
    Object.entries(calls).map(async ([service, call]) => {
      try {
        await bus.call(call, change, context)
        return []
      } catch (cause) {
        return [{ service, cause }]
      }
    }),
  )
  const failed = told.flat()
  const [first] = failed
  if (first !== undefined)
    throw new Unconfirmed(
      failed.map(({ service }) => service),
      { cause: first.cause },
    )
  failpoint('identity.suspension.pushed')
  await database.run((sql) => markSuspensionPushed(sql, agent_id, version))
}
