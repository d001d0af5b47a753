import { type ReadonlySignal, signal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { type Live, startLive } from '../../live/live.ts'
import type { KeptAgent, Vault } from '../../vault/vault.ts'
import { type Boards, createBoards } from '../boards/boards.ts'
import { hasCode, inPassing } from '../failures.ts'
import { createDrafts, type Drafts } from '../mail/drafts.ts'
import { createIgnored, type Ignored } from '../mail/ignored.ts'
import { createMailbox, type Mailbox } from '../mail/mailbox.ts'
import { createOpener, type Opener } from '../mail/opening.ts'
import { createOutbox, type Outbox } from '../mail/outbox.ts'
import { createUnread, type Unread } from '../mail/unread.ts'
import { type BudgetState, createBudget } from './budget.ts'
import { type Contacts, createContacts } from './contacts.ts'
import type { AgentContext } from './context.ts'
import { createPeople, type People } from './people.ts'
import { createSettings, type SettingsState } from './settings.ts'

/** Everything that the console knows about one unlocked agent. */
export interface Workspace {
  readonly agentId: string
  readonly context: AgentContext
  /** `unregistered`: the service does not know the key yet. `failed`: the service could not be asked. */
  readonly state: ReadonlySignal<'opening' | 'unregistered' | 'ready' | 'failed'>
  readonly failure: ReadonlySignal<unknown>
  readonly live: ReadonlySignal<Live | undefined>
  readonly people: People
  readonly contacts: Contacts
  readonly budget: BudgetState
  readonly settings: SettingsState
  readonly mailbox: Mailbox
  readonly unread: Unread
  readonly ignored: Ignored
  readonly opener: Opener
  readonly outbox: Outbox
  readonly drafts: Drafts
  readonly boards: Boards
  /** Called for each event that arrives while the agent is open. */
  onArrival(listener: (event: Event) => void): () => void
  /** Asks the service who this agent is, and begins to follow its events. A new key is certainly not registered. */
  open(options?: { readonly isNew: boolean }): Promise<void>
  /** Call this when the agent was registered under a name. */
  registered(name: string): Promise<void>
  close(): void
}

export function createWorkspace(vault: Vault, { agentId, name: keptName }: KeptAgent): Workspace {
  const key = vault.keyOf(agentId)
  const end = new AbortController()
  const name = signal(keptName)
  const authority = signal<string | undefined>(undefined)
  const store = vault.storeOf(agentId)
  const client = new AgentClient({ url: location.origin, key, store: store.client })
  const context: AgentContext = { client, key, store, name, authority, ended: end.signal }
  const state = signal<'opening' | 'unregistered' | 'ready' | 'failed'>('opening')
  const failure = signal<unknown>(undefined)
  const live = signal<Live | undefined>(undefined)
  const listeners = new Set<(event: Event) => void>()
  const [people, budget] = [createPeople(context), createBudget(context)]
  const contacts = createContacts(context, people)
  const [settings, boards, ignored] = [createSettings(context), createBoards(context), createIgnored(context)]
  const [mailbox, unread, drafts] = [createMailbox(context), createUnread(context), createDrafts(context)]
  const outbox = createOutbox(context, contacts)
  const opener = createOpener(context, people, outbox)

  async function open({ isNew } = { isNew: false }): Promise<void> {
    state.value = isNew ? 'unregistered' : 'opening'
    if (isNew) return
    try {
      await settings.refresh()
      authority.value = await client.authority({ signal: end.signal })
    } catch (error) {
      failure.value = error
      state.value = hasCode(error, 'signer_unknown') ? 'unregistered' : 'failed'
      return
    }
    const registeredName = settings.identity.value?.agent.name
    if (registeredName !== undefined && registeredName !== name.value) {
      name.value = registeredName
      await vault.setAgentName(agentId, registeredName)
    }
    try {
      await start()
      state.value = 'ready'
    } catch (error) {
      failure.value = error
      state.value = 'failed'
    }
  }

  async function start(): Promise<void> {
    await Promise.all([people.load(), outbox.load(), drafts.load(), boards.load(), ignored.load()])
    const latest = await mailbox.findEnd()
    await unread.load(latest)
    live.value = startLive({ client, agentId, after: latest, onEvent: arrive, onCursor: mailbox.reach })
    await Promise.all([mailbox.loadOlder(), contacts.refresh(), budget.refresh()])
    inPassing(meetMany())
  }

  /** Names decide which requests are hidden, and whether a recipient is a contact. */
  async function meetMany(): Promise<void> {
    for (const id of contacts.states.value.keys()) await people.meet(id)
    for (const { message } of mailbox.requests.value) await people.meet(message.envelope.from)
  }

  function arrive(event: Event): void {
    mailbox.add([event])
    inPassing(people.meet(event.message.envelope.from))
    if (event.kind === 'board') boards.noteSubscription(event.message.envelope.to.slice('board:'.length))
    for (const listener of listeners) listener(event)
  }

  const parts = { people, contacts, budget, settings, mailbox, unread, ignored, opener, outbox, drafts, boards }
  return {
    agentId,
    context,
    state,
    failure,
    live,
    ...parts,
    onArrival(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    open,
    async registered(newName) {
      name.value = newName
      await vault.setAgentName(agentId, newName)
      await open()
    },
    close() {
      end.abort()
      live.value?.[Symbol.dispose]()
      live.value = undefined
    },
  }
}
