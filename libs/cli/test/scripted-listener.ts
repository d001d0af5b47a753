/**
 * A process that handles four events like `svc listen --exec`, with a shell command but without a network. Tests kill it at
 * each of its effects in turn. Usage: `scripted-listener.ts <folder> <jobs>`. Exits with 0 when its cursor is at the end.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openProgress } from '@svc/cli/listen/progress.ts'
import { createCommandWork } from '@svc/cli/listen/run-command.ts'
import { workThrough } from '@svc/cli/listen/work.ts'
import { createOutput } from '@svc/cli/output/output.ts'
import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { StreamOptions } from '@svc/sdk/events/event-stream.ts'
import { lockFolder } from '@svc/sdk/store/folder-lock.ts'
import { eventually } from '@svc/test/support/eventually.ts'

const [folder = '', jobs = '1'] = process.argv.slice(2)
const KINDS: readonly Event['kind'][] = ['inbox', 'board', 'requests', 'inbox']
const EVENTS = KINDS.map((kind, at) => ({
  cursor: at + 1,
  kind,
  message: {
    envelope: { id: `message-${at + 1}`, from: 'a', to: kind === 'board' ? 'board:b' : 'b', type: 'event', ts: '' },
    lane: kind,
    acked: false,
  },
})) as unknown as Event[]

const stop = new AbortController()
const { env, stdin, stdout, stderr } = process
const io = { env, stdin, stdout, stderr, signal: stop.signal }
using _lock = lockFolder(folder)
const progress = await openProgress(folder, { agentId: 'b', authority: 'agents.example' }, async () => 0)
// With two jobs, the first command runs longer than the second. It ends with its listener, so that a killed listener leaves
// no process behind.
const [log, stored] = ['log', 'progress.json'].map((name) => JSON.stringify(join(folder, name)))
const wait = `while kill -0 $PPID 2> /dev/null && ! grep -q '"finished":\\[2' ${stored}; do sleep 0.02; done`
const first = jobs === '1' ? '' : `[ "$SVC_MESSAGE_ID" != message-1 ] || { ${wait}; }`
const command = `${first}\necho "$SVC_MESSAGE_ID" >> ${log}`
const work = createCommandWork(io, {
  command,
  input: 'body',
  timeoutMs: undefined,
  senders: { nameOf: () => undefined },
  env: {},
})

const client = {
  async *stream({ after = 0, onCursor }: StreamOptions) {
    yield* EVENTS.filter(({ cursor }) => cursor > Number(after)).map((event) => {
      // When an event is read again, the service shows its current state.
      const acked = existsSync(ackOf(event.message.envelope.id))
      return { ...event, message: { ...event.message, acked } }
    })
    onCursor?.(EVENTS.length)
    await eventually(() => progress.cursor === EVENTS.length)
    stop.abort()
    throw stop.signal.reason
  },
  open: async () => ({ body: 'hello', sealed: false, verified: false }),
  ack: async (id: string) => writeFileSync(ackOf(id), ''),
} as unknown as AgentClient

await workThrough({ out: createOutput(io, 'ids'), signal: stop.signal }, { client, progress }, work, {
  lanes: ['inbox', 'board'],
  boards: ['board:b'],
  jobs: Number(jobs),
  attempts: 1_000,
  handles: true,
  verifiedOnly: false,
  deadLetters: join(folder, 'dead-letters'),
  count: Number.POSITIVE_INFINITY,
}).catch((error: unknown) => {
  if (!stop.signal.aborted) throw error
})

function ackOf(id: string): string {
  return join(folder, `acknowledged-${id}`)
}
