import type { Event } from '@svc/contracts/resources.ts'
import type { Command } from 'commander'
import { wholeNumber } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'
import { fullPages } from '../../output/event-pages.ts'
import { messageLine } from '../../output/format.ts'
import { printPages } from '../../output/lists.ts'
import { senderName } from '../../output/names.ts'

interface EventsOptions {
  readonly limit?: number
  readonly after?: number
  readonly all?: boolean
}

const DEFAULT_LIMIT = 50

export function addEvents(program: Command, io: Io): void {
  const command = program
    .command('events')
    .description('events of messages that arrived, sorted by cursor')
    .addHelpText(
      'after',
      `
Keep the cursor of the last event that you processed: --after continues after it. No event is skipped or repeated.

Examples:
  svc events --key bob.key
  svc events --key bob.key --after 17 --all --json`,
    )
  command
    .option('--limit <n>', 'events to show, 1 to 100 (default 50)', wholeNumber(1, 100))
    .option('--after <cursor>', 'start after this cursor', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--all', 'show all events')
    .action(async (options: EventsOptions, command: Command) => {
      const context = contextOf(io, command)
      const { limit = DEFAULT_LIMIT, after, all } = options
      const agent = context.agent()
      const listing = agent.events({
        pageSize: limit,
        after,
        signal: context.signal,
        onGap: ({ after, earliest }) =>
          context.out.warn(`warning: events ${after + 1} to ${earliest - 1} are no longer kept`),
      })
      const show = async (event: Event) => {
        const { cursor, message } = event
        const line = messageLine(message, await senderName(agent, message.envelope.from, context.signal))
        context.out.print(event, [`${String(cursor).padStart(6)}  ${line}`], message.envelope.id)
      }
      await printPages(context, { pages: () => fullPages(listing.pages(), limit) }, { all, show, nothing: 'no events' })
    })
}
