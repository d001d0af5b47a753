import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { AgentClient } from '@svc/sdk/client.ts'
import type { AgentKey } from '@svc/sdk/keys.ts'
import { createFileStore } from '@svc/sdk/store/file-store.ts'
import type { Store } from '@svc/sdk/store/store.ts'
import { Told } from '../channel/told.ts'
import { StartError } from '../errors.ts'
import { SubscriptionStore } from '../events/subscriptions/subscription-store.ts'
import type { Log } from '../log.ts'
import type { Mailbox } from '../mailbox.ts'
import type { Policy } from '../policy.ts'
import { Reader } from '../reading/read.ts'
import { SearchIndex } from '../reading/search-index.ts'
import { Senders } from '../reading/senders.ts'
import { createAliases } from '../store/aliases.ts'
import { createCipher } from '../store/cipher.ts'
import { CursorFile } from '../store/cursor.ts'
import { makeOwnFolder } from '../store/files.ts'
import { readKeyFile, readOrMakeKeyFile } from '../store/key-file.ts'
import { Marks } from '../store/marks.ts'
import { SentStore } from '../store/sent.ts'
import { Turns } from '../store/turns.ts'
import { UnreadCounter } from '../unread.ts'
import { Watcher } from '../watch/watcher.ts'
import { pinConfiguredKeys, pinKey } from './pins.ts'
import { Registration } from './registration.ts'

export interface StartOptions {
  /** Base URL of any gateway. */
  readonly url: string
  /** Pins the authority that requests are signed for. Default: the authority that the service announces. */
  readonly authority?: string | undefined
  readonly keyPath: string
  /** Creates the key file if it does not exist, and registers the key under this name if it is not registered. */
  readonly register?: string | undefined
  /** Default: `<keyPath>.state`. */
  readonly statePath?: string | undefined
  /** `<name>=<agent id>` or `<name>=ed25519:<HEX>`, which the person did not get from the service. */
  readonly pins?: readonly string[] | undefined
  readonly policy: Policy
  /** The most characters of others' text in one result. Default 20,000. */
  readonly resultCharacters?: number | undefined
  /** Names the server, and begins the names of its tools, so that two mailboxes in one client do not clash. */
  readonly serverName?: string | undefined
}

const RESULT_CHARACTERS = 20_000
/** Retries for about 10 s. A client waits about a minute for a tool. */
const ATTEMPTS = 7
/** Until the service has answered once, calls fail sooner. */
const FIRST_ATTEMPTS = 3

/**
 * Opens the mailbox of one agent. If the service does not answer, this succeeds, and `ready` waits for the service.
 * @throws StartError if the key file, the name, a folder or a pin is wrong.
 * @throws ApiError if the service refuses the registration.
 */
export async function openMailbox(options: StartOptions, log: Log): Promise<Mailbox & AsyncDisposable> {
  const { url, authority, keyPath, register, policy, resultCharacters = RESULT_CHARACTERS, serverName } = options
  const key = register === undefined ? readKeyFile(keyPath) : readOrMakeKeyFile(keyPath)
  const firstClient = clientOf({ url, authority, key, attempts: FIRST_ATTEMPTS })
  const root = options.statePath ?? `${keyPath}.state`
  const folder = join(root, folderOf(url, key))
  for (const one of [root, folder]) makeOwnFolder(one)
  const store = createFileStore(join(folder, 'client'), { shared: true })
  const client = clientOf({ url, authority, key, name: register, store })
  const cipher = createCipher(key)
  const used = new Marks(folder, 'used')
  await pinConfiguredKeys(client, used, options.pins ?? [])
  const own = { agentId: key.agentId, pubkey: key.pubkey, name: '', authority: '' }
  const senders = new Senders(client, used, own)
  const sent = new SentStore(folder, cipher)
  const { requireVerified } = policy
  const reader = new Reader({ client, own, senders, sent, requireVerified })
  const watcher = new Watcher({ client, folder, log })
  const cursor = new CursorFile(folder)
  const registration = new Registration(firstClient, {
    wanted: register,
    async onFirst({ name, isNew }, signal) {
      await pinKey(client, { name, keyOrId: key.pubkey, source: 'this agent' })
      Object.assign(own, { name, authority: await client.authority({ signal }) })
      // Events begin now, because check_inbox shows older unread messages. For a new agent everything is new.
      if (cursor.read() === undefined) cursor.advance(isNew ? 0 : await client.latestCursor({ signal }))
    },
  })
  const isReady = await registration.begin()
  log('started', { name: registration.name ?? register, agent: key.agentId, mode: modeOf(policy) })
  if (!isReady) log('service.awaited', { url: new URL(url).origin })
  const turns = new Turns(join(folder, 'spending'))
  return {
    client,
    key,
    get name() {
      return registration.name ?? register
    },
    ready: (signal) => registration.ready(signal),
    policy,
    senders,
    reader,
    sent,
    approvals: new Marks(folder, 'approved'),
    aliases: createAliases(key),
    cursor,
    subscriptions: new SubscriptionStore(folder, cipher),
    told: new Told(folder),
    stateFolder: folder,
    index: new SearchIndex({ client, reader, cipher }, folder),
    unread: new UnreadCounter(client, log),
    watcher,
    log,
    resultCharacters,
    serverName,
    toolPrefix: serverName === undefined ? '' : `${serverName}_`,
    exclusively: (work, signal) => turns.runAlone(work, signal),
    [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose](),
  }
}

function clientOf({
  url,
  authority,
  key,
  name,
  store,
  attempts = ATTEMPTS,
}: Pick<StartOptions, 'url' | 'authority'> & {
  key: AgentKey
  name?: string | undefined
  store?: Store
  attempts?: number
}): AgentClient {
  try {
    return new AgentClient({
      url,
      key,
      retry: { attempts },
      ...(authority === undefined ? {} : { authority }),
      ...(name === undefined ? {} : { name }),
      ...(store === undefined ? {} : { store }),
    })
  } catch (cause) {
    throw new StartError(`${url} is not the URL of a service: ${(cause as Error).message}`, { cause })
  }
}

/** One folder per service and key, because a cursor is valid only for one of each. */
export function folderOf(url: string, { agentId }: AgentKey): string {
  const service = createHash('sha256').update(new URL(url).origin).digest('hex').slice(0, 12)
  return `${agentId}-${service}`
}

function modeOf(policy: Policy): string {
  const { readOnly, contactsOnly, requireVerified, eventText, askStrangers } = policy
  const modes = { readOnly, contactsOnly, requireVerified, eventText, askStrangers }
  return Object.entries(modes)
    .filter(([, isOn]) => isOn)
    .map(([mode]) => mode)
    .join(' ')
}
