/** Webhooks: every configuration has a path of its own at the receiver, so that what comes there says under which one it was sent. */
import { type Actor, ask, type Scene } from './scene.ts'

export async function setWebhook(scene: Scene, actor: Actor): Promise<void> {
  actor.webhooks += 1
  const path = `/${actor.agent.name}/${actor.webhooks}`
  const secret = actor.random.hex(20)
  scene.expectHook(path, secret)
  await ask(actor, { kind: 'set-webhook', url: scene.hookUrl(path), secret })
  actor.hookedMs = Date.now()
}

export async function readWebhook(_scene: Scene, actor: Actor): Promise<void> {
  await ask(actor, { kind: 'webhook' })
}

export async function deleteWebhook(_scene: Scene, actor: Actor): Promise<void> {
  await ask(actor, { kind: 'delete-webhook' })
}
