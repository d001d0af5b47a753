import { type ReadonlySignal, signal } from '@preact/signals'
import type { Identity, Settings, WebhookState } from '@svc/contracts/resources.ts'
import { hasCode } from '../failures.ts'
import type { AgentContext } from './context.ts'

export interface SettingsState {
  readonly identity: ReadonlySignal<Identity | undefined>
  /** Null if no webhook is set; undefined until it was read. */
  readonly webhook: ReadonlySignal<WebhookState | null | undefined>
  refresh(): Promise<void>
  refreshWebhook(): Promise<void>
  change(settings: Settings): Promise<void>
  /** @returns the new secret, which the service never shows again. */
  setWebhook(url: string): Promise<string>
  deleteWebhook(): Promise<void>
}

const SECRET_BYTES = 32

export function createSettings({ client, ended: signalOfEnd }: AgentContext): SettingsState {
  const identity = signal<Identity | undefined>(undefined)
  const webhook = signal<WebhookState | null | undefined>(undefined)
  const call = { signal: signalOfEnd }
  return {
    identity,
    webhook,
    async refresh() {
      identity.value = await client.me(call)
    },
    async refreshWebhook() {
      try {
        webhook.value = await client.webhook(call)
      } catch (error) {
        if (!hasCode(error, 'not_found')) throw error
        webhook.value = null
      }
    },
    async change(settings) {
      identity.value = await client.updateSettings(settings, call)
    },
    async setWebhook(url) {
      const secret = newSecret()
      webhook.value = await client.setWebhook({ url, secret }, call)
      return secret
    },
    async deleteWebhook() {
      await client.deleteWebhook(call)
      webhook.value = null
    },
  }
}

function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
