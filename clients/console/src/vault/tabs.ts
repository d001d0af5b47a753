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
  /** Records whose place begins with `prefix` were deleted. */
  | { readonly kind: 'deleted'; readonly prefix: string }
  /** The browser had deleted the vault, and the sender has stored it again. */
  | { readonly kind: 'stored_again' }

const CHANNEL = 'svc-console/vault'

export function joinTabs(onMessage: (message: TabMessage) => void): { tell(message: TabMessage): void } {
  const channel = new BroadcastChannel(CHANNEL)
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => onMessage(data)
  return { tell: (message) => channel.postMessage(message) }
}
