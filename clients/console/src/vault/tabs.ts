/** The messages between the tabs of the console about the vault. They never hold a secret. */
export type TabMessage =
  /** The owner did something in the sender's tab. */
  | { readonly kind: 'activity' }
  | { readonly kind: 'lock' }
  /** A vault was made. */
  | { readonly kind: 'created' }
  | { readonly kind: 'wiped' }
  /** Agents or settings changed. */
  | { readonly kind: 'changed' }

interface Tabs {
  tell(message: TabMessage): void
  close(): void
}

const CHANNEL = 'svc-console/vault'

export function joinTabs(onMessage: (message: TabMessage) => void): Tabs {
  const channel = new BroadcastChannel(CHANNEL)
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => onMessage(data)
  return {
    tell: (message) => channel.postMessage(message),
    close: () => channel.close(),
  }
}
