/** Webhooks. Every configuration has its own path at the receiver, so each delivery shows under which configuration it was sent. */
import { LATE_MS } from '../../model/register.ts'
import { type Actor, ask, type Scene } from '../scene.ts'

export async function setWebhook(scene: Scene, actor: Actor): Promise<void> {
  actor.webhooks += 1
  const path = `/${actor.agent.name}/${actor.webhooks}`
  const secret = actor.random.hex(20)
  scene.expectHook(path, secret)
  const { status, attempts } = await ask(actor, { kind: 'set-webhook', url: scene.hookUrl(path), secret })
  // An unanswered attempt may still cancel pending deliveries.
  actor.hookedMs = Date.now() + (status === 200 && attempts === 1 ? 0 : LATE_MS)
}

export async function readWebhook(_scene: Scene, actor: Actor): Promise<void> {
  await ask(actor, { kind: 'webhook' })
}

export async function deleteWebhook(_scene: Scene, actor: Actor): Promise<void> {
  await ask(actor, { kind: 'delete-webhook' })
}
