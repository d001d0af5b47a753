import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Told } from './channel/told.ts'
import { StartError } from './errors.ts'
import { isSuspended } from './events/subscriptions/deliveries.ts'
import { SubscriptionStore } from './events/subscriptions/subscription-store.ts'
import { timeOf } from './reading/time.ts'
import { folderOf } from './startup/start.ts'
import { createAliases } from './store/aliases.ts'
import { createCipher } from './store/cipher.ts'
import { readKeyFile } from './store/key-file.ts'
import { isHeld } from './store/lease.ts'
import { isWordless } from './tools/border.ts'

interface ToldStatus {
  /** As tools show it: an alias if its sender could have written words into it. */
  readonly message_id: string
  /** Written to the client. It confirms nothing. */
  readonly told_at: string
  /** A tool has shown the message, so a model was woken, or looked by itself. */
  readonly read_at: string | null
  readonly answered_at: string | null
}

interface SubscriptionStatus {
  readonly id: string
  readonly host: string
  readonly expires_at: string
  /** False if the deliveries wait for the client to refresh the subscription. */
  readonly active: boolean
  readonly last_delivery_at: string | null
  readonly last_error: string | null
}

/** What a state folder says about the servers of one agent. */
export interface McpStatus {
  readonly state_folder: string
  /** Whether a process listens for messages now. */
  readonly listening: boolean
  readonly channel: { readonly running: boolean; readonly told: readonly ToldStatus[] }
  readonly subscriptions: readonly SubscriptionStatus[]
}

interface Where {
  readonly url: string
  readonly keyPath: string
  readonly statePath?: string | undefined
}

const SHOWN = 20

/** Reads the state folder. Asks no process and no service. @throws StartError if there is no such folder. */
export function readStatus({ url, keyPath, statePath }: Where): McpStatus {
  const key = readKeyFile(keyPath)
  const folder = join(statePath ?? `${keyPath}.state`, folderOf(url, key))
  if (!existsSync(folder))
    throw new StartError(`there is no state at ${folder}: svc mcp has not run with this key and this URL`)
  const aliases = createAliases(key)
  const store = new SubscriptionStore(folder, createCipher(key))
  return {
    state_folder: folder,
    listening: isHeld(join(folder, 'stream.lease')),
    channel: {
      running: isHeld(join(folder, 'channel.lease')),
      told: new Told(folder)
        .list()
        .slice(0, SHOWN)
        .map((one) => ({
          message_id: isWordless(one.id) ? one.id : aliases.hide(one.id),
          told_at: time(one.toldAtMs) ?? '',
          read_at: time(one.readAtMs),
          answered_at: time(one.answeredAtMs),
        })),
    },
    subscriptions: store.list().map((one) => {
      const progress = store.progressOf(one)
      return {
        id: one.id,
        host: new URL(one.url).host,
        expires_at: time(one.expiresAtMs) ?? '',
        active: !isSuspended(one, progress),
        last_delivery_at: time(progress.lastDeliveryAtMs),
        last_error: progress.lastError ?? null,
      }
    }),
  }
}

function time(ms: number | undefined): string | null {
  return ms === undefined ? null : timeOf(Math.floor(ms / 1000))
}
