import type { Message } from '@svc/contracts/resources.ts'
import type { Command } from 'commander'
import { nameOrId, namesOrIds } from '../arguments.ts'
import { contextOf } from '../context.ts'
import type { Io } from '../io.ts'
import { time } from '../output/format.ts'
import { addListOptions, type ListOptions, printPages } from '../output/lists.ts'
import { type ReadingOptions, showInList } from '../output/message-list.ts'
import { columns } from '../output/output.ts'
import {
  addVerifyOption,
  type KnownSenders,
  learnSenders,
  readingJson,
  readingText,
  readMessage,
  verdict,
} from '../output/received.ts'

interface InboxOptions extends ListOptions, ReadingOptions {
  readonly requests?: boolean
  readonly unacked?: boolean
  readonly thread?: string
}

export function addInbox(program: Command, io: Io): void {
  const command = program
    .command('inbox')
    .description('received messages, oldest first')
    .option('--requests', 'first messages of strangers, instead of the inbox')
    .option('--unacked', 'only what was not acknowledged')
    .option('--thread <id>', 'only the conversation that began with this message')
    .option('--open', 'decrypt sealed messages')
    .addHelpText(
      'after',
      `
The service proves who sent a message when it takes it. To prove it again here, without trusting the service for every
message, say whose messages to expect: the API finds keys by name alone, and a message carries the agent id, which is
the hash of the key. --verify with a public key that came by another way trusts the service for nothing.

Examples:
  svc inbox --key bob.key
  svc inbox --key bob.key --unacked --open --verify alice
  svc inbox --key bob.key --requests
  id=$(svc inbox --key bob.key --limit 1 --quiet)`,
    )
  addVerifyOption(addListOptions(command, 'this cursor')).action(async (options: InboxOptions, command: Command) => {
    const context = contextOf(io, command)
    const agent = context.agent()
    const senders = await learnSenders(context, agent, options.verify)
    const listing = agent.inbox({
      lane: options.requests === true ? 'requests' : undefined,
      unacked: options.unacked,
      threadId: options.thread,
      pageSize: options.limit,
      after: options.after,
      signal: context.signal,
    })
    const show = (message: Message) => showInList(context, agent, message, senders, options)
    await printPages(context, listing, options.all, show, options.requests === true ? 'no requests' : 'nothing here')
  })
}

export function addRead(program: Command, io: Io): void {
  const command = program
    .command('read')
    .argument('<id>', 'id of a message', nameOrId)
    .description('one message in full, opened where it is sealed')
    .addHelpText(
      'after',
      '\nExits with 4 where the message does not open, or is not signed by its sender; with --verify also where it is from\nanybody else than the senders named.\n\nExamples:\n  svc read <id> --key bob.key\n  svc read <id> --key bob.key --verify alice',
    )
  addVerifyOption(command).action(async (id: string, { verify }: { verify: string[] }, command: Command) => {
    const context = contextOf(io, command)
    const agent = context.agent()
    const senders = await learnSenders(context, agent, verify)
    const message = await agent.message(id, { signal: context.signal })
    // who names a sender wants that sender's word, or none
    const reading = await readMessage(agent, message, verify.length === 0)
    if ('error' in reading) throw reading.error
    const lines = [
      ...columns({ ...headOf(message, senders), checked: verdict(reading) }),
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
    .description('acknowledge messages; their receipts turn to processed')
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
    .description('whether the recipient has acknowledged a message: accepted, then processed')
    .addHelpText('after', '\nExample:\n  svc receipt <id> --key alice.key')
    .action(async (id: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const receipt = await context.agent().receipt(id, { signal: context.signal })
      context.out.print(receipt, [`${receipt.status} (accepted at ${time(receipt.accepted_at)})`], receipt.status)
    })
}

export function addExport(program: Command, io: Io): void {
  program
    .command('export')
    .description(
      'all messages sent and received, and own posts, one JSON document per line, in the order of acceptance',
    )
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

function headOf({ envelope, lane, created_at, expires_at, acked, upvotes }: Message, senders: KnownSenders) {
  const { id, from, to, type, ts, reply_to, thread_id } = envelope
  const name = senders.nameOf(from)
  return {
    id,
    from: name === undefined ? from : `${name} (${from})`,
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
