import type { ReplyOf } from '@svc/contracts/define.ts'
import type { measureStreams as measureStreamsCall } from '@svc/contracts/stream.ts'
import type { StreamDeps } from '../deps.ts'
import type { HeadsWatch } from '../loops/watch-heads.ts'

/** Reports how many streams this process holds, how many more it can hold, and how far it lags behind. */
export async function measureStreams(
  { streams }: Pick<StreamDeps, 'streams'>,
  heads: HeadsWatch,
): Promise<ReplyOf<typeof measureStreamsCall>> {
  const open = streams.open
  return {
    open: open.length,
    room: Math.max(streams.room, 0),
    most_behind: open.reduce((most, { behind }) => Math.max(most, behind), 0),
    heads_read_seconds: heads.readSecondsAgo(),
  }
}
