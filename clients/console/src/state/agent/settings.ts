import { type ReadonlySignal, signal } from '@preact/signals'
import type { Identity, Settings, WebhookState } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { CallOptions } from '@svc/sdk/http/options.ts'
import type { AgentContext } from './context.ts'

const SECRET_BYTES = 32

export class SettingsState {
  readonly #context: AgentContext
  readonly #identity = signal<Identity | undefined>(undefined)
  readonly #webhook = signal<WebhookState | null | undefined>(undefined)
  readonly identity: ReadonlySignal<Identity | undefined> = this.#identity
  /** Null if no webhook is set; undefined until it was read. */
  readonly webhook: ReadonlySignal<WebhookState | null | undefined> = this.#webhook

  constructor(context: AgentContext) {
    this.#context = context
  }

  async refresh(): Promise<void> {
    this.#identity.value = await this.#context.client.me(this.#call)
  }

  async refreshWebhook(): Promise<void> {
    try {
      this.#webhook.value = await this.#context.client.webhook(this.#call)
    } catch (error) {
      if (!isCode(error, 'not_found')) throw error
      this.#webhook.value = null
    }
  }

  async change(settings: Settings): Promise<void> {
    this.#identity.value = await this.#context.client.updateSettings(settings, this.#call)
  }

  /** @returns the new secret, which the service never shows again. */
  async setWebhook(url: string): Promise<string> {
    const secret = newSecret()
    this.#webhook.value = await this.#context.client.setWebhook({ url, secret }, this.#call)
    return secret
  }

  async deleteWebhook(): Promise<void> {
    await this.#context.client.deleteWebhook(this.#call)
    this.#webhook.value = null
  }

  get #call(): CallOptions {
    return { signal: this.#context.ended }
  }
}

function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
