import type { Message } from '@svc/contracts/resources.ts'
import type { Command } from 'commander'
import { nameOrId, namesOrIds } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'
import { time } from '../../output/format.ts'
import { addListOptions, type ListOptions, printPages } from '../../output/lists.ts'
import { type ReadingOptions, showInList } from '../../output/message-list.ts'
import { participant } from '../../output/names.ts'
import { columns } from '../../output/output.ts'
import {
  addVerifyOption,
  findExpected,
  type Opening,
  readingJson,
  readingText,
  readMessage,
  readNamed,
  verdict,
} from '../../output/received.ts'

interface InboxOptions extends ListOptions, ReadingOptions {
  readonly requests?: boolean
  readonly unacked?: boolean
  readonly thread?: string
}

export function addInbox(program: Command, io: Io): void {
  const command = program
    .command('inbox')
    .description('received messages, oldest first')
    .option('--requests', 'show the first messages of strangers instead of the inbox')
    .option('--unacked', 'only messages that are not acknowledged')
    .option('--thread <id>', 'only the conversation that began with this message')
    .option('--open', 'decrypt sealed messages')
    .addHelpText(
      'after',
      `
svc checks each signature on this machine, with the key of the sender's name. The first look-up of a name trusts the
service; svc keeps the key. With --verify only the senders that you name count as verified. With an agent id or a public
key that you got from the sender, you need not trust the service. Some older messages have an agent id instead of a name,
and need --verify <name>.

Examples:
  svc inbox --key bob.key
  svc inbox --key bob.key --unacked --open --verify alice
  svc inbox --key bob.key --requests
  id=$(svc inbox --key bob.key --limit 1 --quiet)`,
    )
  addVerifyOption(addListOptions(command, 'this cursor')).action(async (options: InboxOptions, command: Command) => {
    const context = contextOf(io, command)
    const agent = context.agent()
    const { signal } = context
    const reader = { client: agent, expected: await findExpected(context, agent, options.verify), signal }
    const listing = agent.inbox({
      lane: options.requests === true ? 'requests' : undefined,
      unacked: options.unacked,
      threadId: options.thread,
      pageSize: options.limit,
      after: options.after,
      signal,
    })
    const show = (message: Message) =>
      showInList(context, reader, { document: message, message, read: () => readMessage(reader, message) }, options)
    const nothing = options.requests === true ? 'no requests' : 'no messages'
    await printPages(context, listing, { all: options.all, show, nothing })
  })
}

export function addRead(program: Command, io: Io): void {
  const command = program
    .command('read')
    .argument('<id>', 'id of a message', nameOrId)
    .description('show one message in full; opens sealed messages')
    .addHelpText(
      'after',
      '\nExits with 4 if the message cannot be opened, was not signed by its sender, or is for somebody else. With --verify it also exits with 4 if\nthe message is from any other sender.\n\nExamples:\n  svc read <id> --key bob.key\n  svc read <id> --key bob.key --verify alice',
    )
  addVerifyOption(command).action(async (id: string, { verify }: { verify: string[] }, command: Command) => {
    const context = contextOf(io, command)
    const agent = context.agent()
    const { signal } = context
    const expected = await findExpected(context, agent, verify)
    const message = await agent.message(id, { signal })
    const reading = await readNamed({ client: agent, expected, signal }, message)
    if ('error' in reading) throw reading.error
    const lines = [
      ...columns({ ...headOf(message, reading), checked: verdict(reading) }),
      '',
      ...context.out.quote(readingText(reading)),
    ]
    context.out.print({ ...message, opened: readingJson(reading) }, lines, id)
  })
}

export function addAck(program: Command, io: Io): void {
  program
    .command('ack')
    .argument('<id...>', 'ids of received messages', namesOrIds)
    .description('acknowledge messages; their receipts become "processed"')
    .addHelpText('after', '\nExample:\n  svc ack <id> --key bob.key')
    .action(async (ids: string[], _options: object, command: Command) => {
      const context = contextOf(io, command)
      const agent = context.agent()
      const ackAll = async () => {
        for (const id of ids) {
          const result = await agent.ack(id, { signal: context.signal })
          context.out.print({ msg_id: id, ...result }, [`acknowledged ${id}`], id)
        }
      }
      await (ids.length === 1 ? ackAll() : context.out.list(ackAll))
    })
}

export function addReceipt(program: Command, io: Io): void {
  program
    .command('receipt')
    .argument('<id>', 'id of a message', nameOrId)
    .description('show the status of a message: accepted, or processed once the recipient has acknowledged it')
    .addHelpText('after', '\nExample:\n  svc receipt <id> --key alice.key')
    .action(async (id: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const { signal } = context
      const agent = context.agent()
      const receipt = await agent.receipt(id, { signal })
      const { envelope } = await agent.message(id, { signal })
      const names = await Promise.all([envelope.from, envelope.to].map((who) => participant(agent, who, signal)))
      const line = `${receipt.status} (accepted at ${time(receipt.accepted_at)}, from ${names.join(' to ')})`
      context.out.print(receipt, [line], receipt.status)
    })
}

export function addExport(program: Command, io: Io): void {
  program
    .command('export')
    .description('all sent and received messages and your posts, oldest first, one JSON document per line')
    .option('--thread <id>', 'only the conversation that began with this message')
    .addHelpText('after', '\nExample:\n  svc export --key alice.key > alice.ndjson')
    .action(async ({ thread }: { thread?: string }, command: Command) => {
      const context = contextOf(io, command)
      const messages = context.agent().export({ threadId: thread, pageSize: 100, signal: context.signal })
      await context.out.list(async () => {
        for await (const message of messages) context.out.document(message, message.envelope.id)
      })
    })
}

function headOf({ envelope, lane, created_at, expires_at, acked, upvotes }: Message, { opened: { sender } }: Opening) {
  const { id, from, to, type, ts, reply_to, thread_id } = envelope
  // Beside an address the id, and beside an id the name.
  const other = sender?.agentId === from ? sender.name : sender?.agentId
  return {
    id,
    from: other === undefined ? from : `${from} (${other})`,
    to,
    type,
    sent: ts,
    accepted: time(created_at),
    expires: time(expires_at),
    lane,
    ...(lane === 'board' ? { votes: upvotes } : { acknowledged: acked ? 'yes' : 'no' }),
    ...(reply_to === undefined ? {} : { 'reply to': reply_to }),
    ...(thread_id === undefined ? {} : { thread: thread_id }),
  }
}
