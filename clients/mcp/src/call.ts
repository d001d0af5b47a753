import type { Fence } from './output/fence.ts'
import type { Asker } from './send/asker.ts'

/** One call of a tool. */
export interface Call {
  /** Aborted when the client cancels the call or disconnects. */
  readonly signal: AbortSignal
  /** Used only for this call. */
  readonly fence: Fence
  readonly asker: Asker
  /** Sends a progress notification if the client asked for it. */
  progress(elapsed: number, total: number, message: string): Promise<void>
}
