import { McpServer } from '@modelcontextprotocol/server'
import { SERVICE } from '@svc/contracts/limits.ts'
import { CHANNEL_CAPABILITY } from './channel/channel.ts'
import { EVENT_CAPABILITIES } from './events/event-type.ts'
import { serveEvents } from './events/serve-events.ts'
import type { Subscriptions } from './events/subscriptions/subscribe.ts'
import { instructionsFor } from './instructions.ts'
import type { Mailbox } from './mailbox.ts'
import { isOffered } from './policy.ts'
import { registerPrompts } from './prompts.ts'
import { registerResources } from './resources.ts'
import { askedCodec } from './send/asker.ts'
import { TOOLS } from './tools/all.ts'

interface Extras {
  /** The subscriptions of the client's token. Undefined if it cannot have any. */
  readonly subscriptions?: Subscriptions | undefined
  readonly hasChannel?: boolean
}

/**
 * A protocol server for one client, or for one request of a client without a connection.
 * @param era `modern` for protocol versions from 2026-07-28 on, which alone have events.
 */
export function createServer(
  mailbox: Mailbox,
  era: 'legacy' | 'modern',
  { subscriptions, hasChannel = false }: Extras = {},
): McpServer {
  // Two mailboxes in one client must have different names.
  const agent = mailbox.name ?? mailbox.key.agentId
  const server = new McpServer(
    { name: mailbox.serverName ?? `svc-${agent}`, title: `Signed agent messaging: ${agent}`, version: SERVICE.version },
    {
      instructions: instructionsFor(mailbox),
      capabilities: {
        resources: { subscribe: true },
        // Tools and prompts stay the same while the process runs. By default, the library would declare that they change.
        tools: { listChanged: false },
        ...(mailbox.policy.readOnly ? {} : { prompts: { listChanged: false } }),
        ...(era === 'modern' ? EVENT_CAPABILITIES : {}),
        ...(hasChannel ? { experimental: CHANNEL_CAPABILITY } : {}),
      },
      requestState: { verify: askedCodec.verify },
    },
  )
  for (const tool of TOOLS) if (isOffered(mailbox.policy, tool.reach)) tool.register(server, mailbox)
  registerResources(server, mailbox)
  if (era === 'modern') serveEvents(server, mailbox, subscriptions)
  if (!mailbox.policy.readOnly) registerPrompts(server)
  return server
}
