import type { McpServer } from '@modelcontextprotocol/server'
import type { Mailbox } from '../mailbox.ts'

/**
 * Serves subscriptions of a client with a connection (protocol versions before 2026-07-28). The client names resources, and
 * is notified when one of them may have changed.
 * @returns ends the subscriptions when disposed.
 */
export function serveSubscriptions(server: McpServer, mailbox: Mailbox): Disposable {
  const uris = new Set<string>()
  let watch: Disposable | undefined
  server.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    uris.add(uri)
    watch ??= mailbox.watcher.onEveryChange(() => tellOfChanges(server, uris, mailbox))
    return {}
  })
  server.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    uris.delete(uri)
    if (uris.size === 0) stop()
    return {}
  })
  function stop(): void {
    watch?.[Symbol.dispose]()
    watch = undefined
  }
  return { [Symbol.dispose]: stop }
}

/** If a notification fails, nothing is lost: the client reads the resources again when it reconnects. */
export function tellOfChanges(server: McpServer, uris: Iterable<string>, { log }: Mailbox): void {
  for (const uri of uris) {
    server.server
      .sendResourceUpdated({ uri })
      .catch((error: unknown) => log('notify.failed', { error: error instanceof Error ? error.name : 'unknown' }))
  }
}
