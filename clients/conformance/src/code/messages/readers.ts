/** Readers that follow an agent's lists while others send to it. */
import type { Case } from '../../cases/case.ts'
import { answered, check, got } from '../../cases/check.ts'
import { readPages } from '../../cases/pages.ts'
import type { Agent } from '../../http/agent.ts'

const SENDERS = 4
const EACH = 15

interface Event {
  readonly cursor: number
  readonly message: { readonly envelope: { readonly id: string } }
}

export const READERS: Case = {
  id: 'messages/readers',
  title: 'Readers while others send: each sees every message once, in the order of the cursors, and misses none',
  spec: ['9.3', '7.9', '7.15'],
  needs: [],
  agents: SENDERS + 1,
  async run(world) {
    const [reader, ...senders] = (await Promise.all(Array.from({ length: SENDERS + 1 }, () => world.agent()))) as [
      Agent,
      ...Agent[],
    ]
    await got(reader.patch('/v2/me', { inbox_policy: 'open' }))
    const sent = new AbortController()
    const followers = [1, 2].map((gateway) => followEvents(reader, gateway, sent.signal))
    const exporting = followExport(reader, sent.signal)
    const sending = senders.map(async (sender) => {
      const ids: string[] = []
      for (let at = 0; at < EACH; at += 1) {
        const envelope = sender.envelope(reader, at)
        ids.push((await got(answered(() => sender.post('/v2/messages', envelope)))).msg_id)
      }
      return ids
    })
    const all = Promise.all(sending).finally(() => sent.abort())
    const [accepted, [first = [], second = []], exported] = await Promise.all([
      all.then((ids) => ids.flat()),
      Promise.all(followers),
      exporting,
    ])
    const cursors = first.map(({ cursor }) => cursor)
    check(
      cursors,
      cursors.map((_, at) => at + 1),
      'the cursors',
    )
    check(second, first, 'what the second reader saw')
    const ids = first.map(({ id }) => id)
    check(ids.toSorted(), accepted.toSorted(), 'what the first reader saw')
    check(exported.toSorted(), accepted.toSorted(), 'what a concurrent export saw')
    check((await readPages(reader, '/v2/inbox?limit=20')).ids, ids, 'the inbox')
  },
}

/** Reads from its last cursor until it has everything that was sent. */
async function followEvents(
  agent: Agent,
  gateway: number,
  sent: AbortSignal,
): Promise<{ cursor: number; id: string }[]> {
  const seen: { cursor: number; id: string }[] = []
  for (let after = 0; ; ) {
    const isLast = sent.aborted
    const page = await got(answered(() => agent.get(`/v2/events?limit=10&after=${after}`, { gateway })))
    const events = page.events as Event[]
    seen.push(...events.map(({ cursor, message }) => ({ cursor, id: message.envelope.id })))
    after = page.next_cursor
    if (isLast && events.length === 0) return seen
  }
}

/** Follows `next_cursor`. Where the list ends, it reads the last page again: that page only grows. */
async function followExport(agent: Agent, sent: AbortSignal): Promise<string[]> {
  const seen: string[] = []
  let tail: string[] = []
  for (let after = ''; ; ) {
    const isLast = sent.aborted
    const body = await got(answered(() => agent.get(`/v2/export?limit=10${after}`)))
    const page: string[] = body.messages.map(({ envelope }: { envelope: { id: string } }) => envelope.id)
    check(page.slice(0, tail.length), tail, 'the beginning of the last page')
    if (body.next_cursor === '' && isLast) return [...seen, ...page]
    tail = body.next_cursor === '' ? page : []
    if (body.next_cursor !== '') {
      seen.push(...page)
      after = `&after=${encodeURIComponent(body.next_cursor)}`
    }
  }
}
