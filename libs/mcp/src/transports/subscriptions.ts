import type { McpServer } from '@modelcontextprotocol/server'
import type { Mailbox } from '../mailbox.ts'

/**
 * Tells a client with a connection (protocol versions before 2026-07-28) of news: it names resources, and is told when one of
 * them may have changed. @returns what ends it.
 */
export function serveSubscriptions(server: McpServer, { watcher }: Mailbox): Disposable {
  const uris = new Set<string>()
  let watch: Disposable | undefined
  server.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    uris.add(uri)
    watch ??= watcher.listen(() => {
      for (const one of uris) void server.server.sendResourceUpdated({ uri: one }).catch(() => undefined)
    })
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
