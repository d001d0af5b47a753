import { type ReadonlySignal, signal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { isCode } from '@svc/sdk/errors.ts'
import { Live } from '../../live/live.ts'
import type { KeptAgent } from '../../vault/keyring.ts'
import type { Vault } from '../../vault/vault.ts'
import { Boards } from '../boards/boards.ts'
import { inBackground, inPassing } from '../failures.ts'
import { Health } from '../health.ts'
import { Archive } from '../mail/archive.ts'
import { ConversationList } from '../mail/conversation-list.ts'
import { Drafts } from '../mail/drafts.ts'
import { History, isUnreachable } from '../mail/history.ts'
import { Ignored } from '../mail/ignored.ts'
import { Opener } from '../mail/opening.ts'
import { Outbox } from '../mail/outbox.ts'
import { Texts } from '../mail/texts.ts'
import { Unread } from '../mail/unread.ts'
import { BudgetState } from './budget.ts'
import { Contacts } from './contacts.ts'
import type { AgentContext } from './context.ts'
import { People } from './people.ts'
import { restoreKept, watchRevocation } from './revocation.ts'
import { SettingsState } from './settings.ts'

/**
 * `unregistered`: the service does not know the key yet. `failed`: the service could not be asked. `revoked`: the agent can never
 * sign again.
 */
type WorkspaceState = 'opening' | 'unregistered' | 'ready' | 'failed' | 'revoked'

/** The record of the preferences that has the service's authority. */
const AUTHORITY = 'authority'

/** Everything that the console knows about one unlocked agent. */
export class Workspace {
  readonly agentId: string
  readonly context: AgentContext
  readonly health: Health
  readonly people: People
  readonly contacts: Contacts
  readonly budget: BudgetState
  readonly settings: SettingsState
  readonly archive: Archive
  readonly history: History
  readonly texts: Texts
  readonly conversations: ConversationList
  readonly unread: Unread
  readonly ignored: Ignored
  readonly opener: Opener
  readonly outbox: Outbox
  readonly drafts: Drafts
  readonly boards: Boards
  readonly #vault: Vault
  readonly #end = new AbortController()
  readonly #name = signal<string | undefined>(undefined)
  readonly #authority = signal<string | undefined>(undefined)
  readonly #state = signal<WorkspaceState>('opening')
  readonly #failure = signal<unknown>(undefined)
  readonly #live = signal<Live | undefined>(undefined)
  #isLoaded = false
  readonly #listeners = new Set<(event: Event) => void>()
  readonly state: ReadonlySignal<WorkspaceState> = this.#state
  readonly failure: ReadonlySignal<unknown> = this.#failure
  readonly live: ReadonlySignal<Live | undefined> = this.#live

  constructor(vault: Vault, { agentId, name }: KeptAgent) {
    this.agentId = agentId
    this.#vault = vault
    this.#name.value = name
    const key = vault.keyOf(agentId)
    const store = vault.storeOf(agentId)
    const watched = watchRevocation(() => this.noteRevoked())
    const ended = this.#end.signal
    // One cheap request, without retries.
    const asking = new AgentClient({ url: location.origin, key, fetch: watched, retry: { attempts: 1 } })
    const probe = (signal: AbortSignal): Promise<unknown> =>
      asking.events({ after: Number.MAX_SAFE_INTEGER, pageSize: 1, signal }).page()
    this.health = new Health({ probe, ended })
    this.health.followBrowser()
    const client = new AgentClient({
      url: location.origin,
      key,
      store: store.client,
      fetch: this.health.watch(watched),
    })
    const context = { client, key, store, name: this.#name, authority: this.#authority, ended }
    this.context = context
    this.people = new People(context)
    this.contacts = new Contacts(context, this.people)
    this.budget = new BudgetState(context)
    this.settings = new SettingsState(context)
    this.archive = new Archive(context)
    this.unread = new Unread(context)
    this.history = new History(context, this)
    this.ignored = new Ignored(context)
    this.outbox = new Outbox(context, this.contacts, {
      health: this.health,
      onAccepted: (message) => this.archive.addMessages([message]),
    })
    this.opener = new Opener(context, this.people, this.outbox)
    this.texts = new Texts(context, this)
    this.conversations = new ConversationList(this)
    this.drafts = new Drafts(context)
    this.boards = new Boards(context)
  }

  /** Asks the service who this agent is, and begins to follow its events. A new key is certainly not registered. */
  async open({ isNew } = { isNew: false }): Promise<void> {
    this.#state.value = isNew ? 'unregistered' : 'opening'
    if (isNew) return
    try {
      await this.health.unlessFailing(this.settings.refresh())
      await this.health.unlessFailing(this.#learnAuthority())
    } catch (error) {
      // An agent that was open here before is shown as this browser keeps it.
      if (!isUnreachable(error) || !(await this.#recallAuthority())) {
        this.#fail(error, isCode(error, 'signer_unknown') ? 'unregistered' : 'failed')
        return
      }
    }
    const name = this.settings.identity.value?.agent.name
    if (name !== undefined && name !== this.#name.value) await this.#rename(name)
    try {
      await this.#start()
      this.#become('ready')
    } catch (error) {
      this.#fail(error, 'failed')
    }
  }

  /** Call this when the agent was registered under a name. */
  async registered(name: string): Promise<void> {
    await this.#rename(name)
    await this.open()
  }

  /** Calls the listener for each event that arrives while the agent is open. */
  onArrival(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The service refuses every further call of this agent, for ever. */
  noteRevoked(): void {
    if (this.#state.value === 'revoked') return
    this.#state.value = 'revoked'
    this.#endLive()
    inBackground(this.#showKept())
  }

  close(): void {
    this.#end.abort()
    this.#endLive()
  }

  #endLive(): void {
    this.#live.value?.[Symbol.dispose]()
    this.#live.value = undefined
  }

  #fail(error: unknown, state: WorkspaceState): void {
    this.#failure.value = error
    this.#become(state)
  }

  /** A revoked agent stays revoked, whatever a call that was on its way says. */
  #become(state: WorkspaceState): void {
    if (this.#state.value !== 'revoked') this.#state.value = state
  }

  /** Shows the data that this browser keeps. Does not load people, drafts or outbox again, because memory may be newer. */
  async #showKept(): Promise<void> {
    const { people, drafts, outbox } = this
    if (!this.#isLoaded) await Promise.all([people, drafts, outbox].map((part) => part.load()))
    await restoreKept(this)
  }

  async #learnAuthority(): Promise<void> {
    const authority = await this.context.client.authority({ signal: this.#end.signal })
    this.#authority.value = authority
    await this.context.store.preferences.put(AUTHORITY, authority)
  }

  /** @returns whether an earlier session stored the authority and the name. */
  async #recallAuthority(): Promise<boolean> {
    this.#authority.value = (await this.context.store.preferences.get(AUTHORITY)) as string | undefined
    return this.#authority.value !== undefined && this.#name.value !== undefined
  }

  async #rename(name: string): Promise<void> {
    this.#name.value = name
    await this.#vault.setAgentName(this.agentId, name)
  }

  async #start(): Promise<void> {
    const { people, outbox, drafts, boards, ignored, history, contacts, budget, health } = this
    await Promise.all([people, outbox, drafts, boards, ignored].map((part) => part.load()))
    this.#isLoaded = true
    const latest = await history.open()
    await Promise.all([this.unread.load(latest), this.texts.load()])
    this.#live.value = new Live({
      client: this.context.client,
      agentId: this.agentId,
      after: latest,
      onEvent: (event) => this.#arrive(event),
      onCursor: (cursor) => history.reach(cursor),
    })
    const newest = history.readNewest()
    try {
      await Promise.all([newest, ...[contacts, budget].map((part) => health.unlessFailing(part.refresh()))])
    } catch (error) {
      if (!isUnreachable(error)) throw error
    }
    // The history must not be read twice at the same time.
    inPassing(newest.catch(() => undefined).then(() => this.#readOn()))
  }

  /** Work in the background: names of contacts, the rest of the history, sealed texts, and what a lost network kept from loading. */
  async #readOn(): Promise<void> {
    // Names decide which requests are hidden, and whether a recipient is a contact.
    for (const id of this.contacts.states.value.keys()) await this.people.meet(id)
    await this.history.readAll()
    await this.texts.openAll()
    // The service could not be reached when the agent was opened.
    if (this.settings.identity.value === undefined) {
      await Promise.all([this.settings.refresh(), this.contacts.refresh(), this.budget.refresh()])
    }
  }

  #arrive(event: Event): void {
    this.archive.add([event], (from) => this.people.isOwn(from))
    inPassing(this.people.meet(event.message.envelope.from))
    if (event.kind === 'board') this.boards.noteSubscription(event.message.envelope.to.slice('board:'.length))
    inPassing(this.texts.openAll())
    for (const listener of this.#listeners) listener(event)
  }
}
