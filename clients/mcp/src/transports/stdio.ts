import type { Readable, Writable } from 'node:stream'
import type { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { type Audience, runChannel } from '../channel/channel.ts'
import type { Mailbox } from '../mailbox.ts'
import { changingUris } from '../resources.ts'
import { createServer } from '../server.ts'
import { withoutDiscovery } from './legacy-opening.ts'
import { mapReceived, withArguments } from './received.ts'
import { serveSubscriptions, tellOfChanges } from './subscriptions.ts'

/** The server sends this when a client of 2026-07-28 has opened a subscription. */
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/**
 * Serves one client over a pair of streams until the client closes its end, or the signal is aborted. Supports every protocol
 * version of the library. The client's first message names its version.
 * @param channel whose messages are told to the session through a channel. Undefined means that there is none.
 */
export async function serveOverStdio(
  mailbox: Mailbox,
  { stdin, stdout, signal }: { stdin: Readable; stdout: Writable; signal: AbortSignal },
  channel?: Audience,
): Promise<void> {
  const ended = new AbortController()
  let telling: Promise<void> | undefined
  const held: Disposable[] = []
  let current: McpServer | undefined
  let watch: Disposable | undefined
  const wire = new StdioServerTransport(stdin, stdout)
  const readable = mapReceived(wire, withArguments)
  const send = wire.send.bind(wire)
  wire.send = (message) => {
    if ('method' in message && message.method === ACKNOWLEDGED && watch === undefined) {
      watch = mailbox.watcher.onEveryChange(() => tell())
      held.push(watch)
    }
    return send(message)
  }
  /** The library forwards only the resources that the client subscribed to. */
  function tell(): void {
    if (current !== undefined) tellOfChanges(current, changingUris(mailbox), mailbox)
  }
  const closed = new Promise<void>((resolve) => {
    stdin.once('close', resolve)
    stdin.once('end', resolve)
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
  const handle = serveStdio(
    ({ era }) => {
      const server = createServer(mailbox, era, { hasChannel: channel !== undefined && era === 'legacy' })
      if (era === 'legacy') held.push(serveSubscriptions(server, mailbox))
      if (era === 'legacy' && channel !== undefined) {
        server.server.oninitialized = () => {
          telling ??= runChannel(mailbox, channel, (one) => server.server.notification(one), ended.signal)
        }
      }
      current = server
      return server
    },
    {
      transport: channel === undefined ? readable : withoutDiscovery(readable),
      onerror: (error) => mailbox.log('protocol.error', { error: error.name }),
    },
  )
  await closed
  ended.abort()
  await telling
  for (const one of held) one[Symbol.dispose]()
  await handle.close()
}
