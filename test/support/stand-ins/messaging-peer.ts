/** A stand-in for the logs of messaging, on a real NATS, because a service's tests never start another service. */
import { ARRIVALS_MAX, listArrivals, listMoved, readArrivals } from '@svc/contracts/messaging.ts'
import { handle, handleText } from '@svc/nats/serve.ts'
import { type Peer, startPeer } from './peer.ts'

interface LogEntry {
  readonly agentId: string
  readonly cursor: number
  readonly kind: string
  readonly messageId: string
  /** Unix seconds. */
  readonly expiresAt: number
  /** The entry's event as JSON. */
  readonly text: string
}

export interface MessagingPeer extends Peer {
  /** Appends an entry to its agent's log. */
  append(entry: LogEntry): void
  /** Called before entries are answered. */
  beforeRead: () => Promise<void> | void
  /** The most entries in one answer of `readArrivals`, to simulate long entries. */
  pageEntries: number
}

export async function startMessagingPeer(natsUrl: string): Promise<MessagingPeer> {
  const logs = new Map<string, LogEntry[]>()
  const entriesOf = (agentId: string): LogEntry[] => logs.get(agentId) ?? []
  const headOf = (agentId: string): number => Math.max(0, ...entriesOf(agentId).map(({ cursor }) => cursor))
  const isLive = ({ expiresAt }: LogEntry): boolean => expiresAt > Date.now() / 1_000

  const peer = await startPeer(natsUrl, 'messaging', [
    handle(listMoved, async ({ agent_ids, heads }) => ({
      moved: agent_ids.flatMap((agentId, index) => {
        const head = headOf(agentId)
        return head === heads[index] ? [] : [{ index, head }]
      }),
    })),
    handle(listArrivals, async ({ logs: asked }) => ({
      logs: asked.map(({ agent_id, after }) => {
        const entries = entriesOf(agent_id)
          .filter(({ kind, cursor }) => kind === 'inbox' && cursor > after)
          .toSorted((a, b) => a.cursor - b.cursor)
          .slice(0, ARRIVALS_MAX.entries)
        const isCut = entries.length === ARRIVALS_MAX.entries
        return {
          through: isCut ? (entries.at(-1)?.cursor ?? after) : Math.max(after, headOf(agent_id)),
          entries: entries.map(({ cursor, messageId }) => ({ cursor, message_id: messageId })),
        }
      }),
    })),
    handleText(readArrivals, async ({ entries: asked }) => {
      await self.beforeRead()
      const lookedAt = asked.slice(0, self.pageEntries)
      const found = lookedAt.flatMap(({ agent_id, cursor }, index) => {
        const entry = entriesOf(agent_id).find((one) => one.cursor === cursor && isLive(one))
        return entry === undefined ? [] : [{ index, text: entry.text }]
      })
      return {
        meta: { looked_at: lookedAt.length, found: found.map(({ index }) => index) },
        text: found.map(({ text }) => text).join('\t'),
      }
    }),
  ])
  const self: MessagingPeer = {
    ...peer,
    append(entry) {
      logs.set(entry.agentId, [...entriesOf(entry.agentId), entry])
    },
    beforeRead: () => {},
    pageEntries: ARRIVALS_MAX.read,
  }
  return self
}
