import type { InboxPolicy, Settings } from '@svc/contracts/resources.ts'

/** The settings that an identity has. */
export interface CurrentSettings {
  readonly inbox_policy: InboxPolicy
  readonly discoverable: boolean
}

/** The settings after a PATCH: what it does not name stays. */
export function applySettings(current: CurrentSettings, settings: Settings): CurrentSettings {
  return {
    inbox_policy: settings.inbox_policy ?? current.inbox_policy,
    discoverable: settings.discoverable ?? current.discoverable,
  }
}

/** `nothing` to do, a change that is `free`, or one that is `paid` for with 1 unit. */
export type SettingsChange = 'nothing' | 'free' | 'paid'

/** Closing the inbox is free where nothing else changes, and so is changing nothing. Source: spec 5.10, 11.2. */
export function settingsChange(before: CurrentSettings, after: CurrentSettings): SettingsChange {
  if (after.discoverable !== before.discoverable) return 'paid'
  if (after.inbox_policy === before.inbox_policy) return 'nothing'
  return after.inbox_policy === 'closed' ? 'free' : 'paid'
}
