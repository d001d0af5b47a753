/**
 * A process that handles four events like `svc listen --exec`, with a shell command but without a network. Tests kill it at
 * each of its effects in turn. Usage: `scripted-listener.ts <folder> <jobs>`. Exits with 0 when its cursor is at the end.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCommandWork } from '@svc/cli/listen/run-command.ts'
import { workThrough } from '@svc/cli/listen/work.ts'
import { createOutput } from '@svc/cli/output/output.ts'
import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { StreamOptions } from '@svc/sdk/events/event-stream.ts'
import { Consumer, type ConsumerDeps, type ProcessOptions } from '@svc/sdk/process/consumer.ts'
import { createFileStore } from '@svc/sdk/store/file-store.ts'
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
const { signal } = stop
const { env, stdin, stdout, stderr } = process
const io = { env, stdin, stdout, stderr, signal }
using store = createFileStore(folder)
// With two jobs, the first command runs longer than the second, until a kill. It ends with its listener, so that a killed listener leaves
// no process behind.
const [log, second] = ['log', 'process/messages/message-2'].map((name) => JSON.stringify(join(folder, name)))
const wait = `while kill -0 $PPID 2> /dev/null && ! grep -q '"finished":true' ${second}; do sleep 0.02; done`
// After a kill, the commands that were running run one at a time, so none may wait for another.
const isFirstLife = (await store.keys('process/')).length === 0
const first = jobs === '1' || !isFirstLife ? '' : `[ "$SVC_MESSAGE_ID" != message-1 ] || { ${wait}; }`
const command = `${first}\necho "$SVC_MESSAGE_ID" >> ${log}`
const work = createCommandWork(io, { command, input: 'body', timeoutMs: undefined, env: {} })

const deps = {
  async *stream({ after = 0, onCursor }: StreamOptions) {
    yield* EVENTS.filter(({ cursor }) => cursor > Number(after)).map((event) => {
      // When an event is read again, the service shows its current state.
      const acked = existsSync(ackOf(event.message.envelope.id))
      return { ...event, message: { ...event.message, acked } }
    })
    // The service sends the cursor again and again while nothing happens.
    await eventually(() => {
      onCursor?.(EVENTS.length)
      return isDone()
    })
    stop.abort()
    throw signal.reason
  },
  ack: async (id: string) => writeFileSync(ackOf(id), ''),
  owner: async () => ({ agentId: 'b', authority: 'agents.example' }),
  sleep: () => eventually(() => signal.aborted),
  random: () => 0,
} as unknown as ConsumerDeps
const client = {
  process: (options: ProcessOptions) => Consumer.run(deps, options, store),
  open: async () => ({ body: 'hello', sealed: false, verified: false, sender: undefined }),
  nameOf: async () => undefined,
} as unknown as AgentClient

const options = {
  work,
  store,
  lanes: ['inbox', 'board'] as const,
  boards: ['board:b'],
  parallel: Number(jobs),
  acknowledge: true,
  attempts: 1_000,
  after: 0,
  deadLetters: join(folder, 'dead-letters'),
}
await workThrough({ out: createOutput(io, 'ids'), signal }, { client, expected: new Set(), signal }, options).catch(
  (error: unknown) => {
    if (!signal.aborted) throw error
  },
)

async function isDone(): Promise<boolean> {
  const { cursor } = JSON.parse((await store.get('process/place')) ?? '{}') as { cursor?: number }
  return cursor === EVENTS.length && (await store.keys('process/messages/')).length === 0
}

function ackOf(id: string): string {
  return join(folder, `acknowledged-${id}`)
}
