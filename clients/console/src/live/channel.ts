/** The messages between the tabs that show one agent. */
import type { Event } from '@svc/contracts/resources.ts'
import type { LiveState } from './leader.ts'

export type LiveMessage =
  /** A tab that has just begun to follow asks the leader for its state. */
  | { readonly kind: 'hello' }
  /** The leader sends its state after each change, and every 3 s as a heartbeat. */
  | { readonly kind: 'state'; readonly state: LiveState; readonly cursor: number }
  /** The leader has read from `after` to `cursor`. `event` is absent if nothing there is visible to the agent. */
  | { readonly kind: 'moved'; readonly after: number; readonly cursor: number; readonly event?: Event }

export interface LiveChannel extends Disposable {
  tell(message: LiveMessage): void
}

export function openChannel(name: string, onMessage: (message: LiveMessage) => void): LiveChannel {
  const channel = new BroadcastChannel(name)
  channel.onmessage = ({ data }: MessageEvent<LiveMessage>) => onMessage(data)
  return {
    tell: (message) => channel.postMessage(message),
    [Symbol.dispose]: () => channel.close(),
  }
}
