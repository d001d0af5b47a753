/** The service, a sidecar for clients, and a sidecar with an agent behind it. */
import { registered, startService } from '@svc/sdk/test/agents.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '@svc/test/support/stand-ins/webhook-receiver.ts'
import type { ServeOptions } from '../../src/serve.ts'
import { type Sidecar, startSidecar } from '../sidecar.ts'
import { type Binding, HttpJson, type Json, JsonRpc } from './bindings.ts'
import { type ScriptedAgent, startScriptedAgent } from './scripted-agent.ts'

export interface World extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` of the sidecar for clients. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The contact with an agent. */
  readonly bob: string
  /** A contact without an agent. */
  readonly carol: string
  /** An agent that is no contact. */
  readonly dave: string
  readonly agent: ScriptedAgent
  readonly receiver: WebhookReceiver
  /** Both bindings of a contact's endpoint. */
  bindingsOf(name: string): [Binding, Binding]
  cardOf(name: string): Promise<Response>
}

/** Longer than any wait of a test, so a call that does not return is seen. */
const WAIT_SECONDS = 150

export async function startWorld(): Promise<World> {
  await using started = new AsyncDisposableStack()
  const service = started.use(await startService())
  const [alice, bob, carol, dave] = await registered(service, 'alice', 'bob', 'carol', 'dave')
  for (const contact of [bob, carol]) {
    await alice.setContact(contact.name, 'accepted')
    await contact.setContact(alice.name, 'accepted')
  }
  const agent = started.use(await startScriptedAgent())
  const receiver = started.use(await startReceiver())
  const start = async (owner: typeof alice, more: Partial<ServeOptions>): Promise<Sidecar> =>
    started.use(await startSidecar(owner.key, { url: service.url, waitSeconds: WAIT_SECONDS, ...more }))
  const [{ url, token }] = await Promise.all([
    start(alice, { pushRules: { exemptTargets: new Set([receiver.host]) } }),
    start(bob, { agentUrl: agent.url }),
    start(carol, {}),
  ])
  const authorization = { authorization: `Bearer ${token}` }
  const headers = { ...authorization, 'a2a-version': '1.0' }
  const cardOf = (name: string): Promise<Response> =>
    fetch(`${url}/${name}/.well-known/agent-card.json`, { headers: authorization })
  // The card comes after the first message.
  const message = { messageId: 'first', role: 'ROLE_USER', parts: [{ text: 'complete' }] }
  await new JsonRpc(`${url}/${bob.name}`, headers).call('SendMessage', { message })
  await eventually(async () => ((await (await cardOf(bob.name)).json()) as Json).name === 'Scripted')
  const stack = started.move()
  return {
    url,
    headers,
    bob: bob.name,
    carol: carol.name,
    dave: dave.name,
    agent,
    receiver,
    bindingsOf: (name) => [new JsonRpc(`${url}/${name}`, headers), new HttpJson(`${url}/${name}`, headers)],
    cardOf,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
