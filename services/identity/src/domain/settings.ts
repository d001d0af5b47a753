import type { InboxPolicy, Settings } from '@svc/contracts/resources.ts'

/** The settings that an agent has now. */
export interface CurrentSettings {
  readonly inbox_policy: InboxPolicy
  readonly discoverable: boolean
}

/** The settings after a PATCH. Fields that the PATCH does not name keep their values. */
export function applySettings(current: CurrentSettings, settings: Settings): CurrentSettings {
  return {
    inbox_policy: settings.inbox_policy ?? current.inbox_policy,
    discoverable: settings.discoverable ?? current.discoverable,
  }
}

const CHANGE_UNITS = 1

/** The units that a change costs. Closing the inbox is free if nothing else changes, and so is a PATCH that changes nothing (spec 5.10, 11.2). */
export function settingsPrice(before: CurrentSettings, after: CurrentSettings): number | 'nothing' {
  if (after.discoverable !== before.discoverable) return CHANGE_UNITS
  if (after.inbox_policy === before.inbox_policy) return 'nothing'
  return after.inbox_policy === 'closed' ? 0 : CHANGE_UNITS
}
