import type { Message } from '@svc/contracts/resources.ts'
import type { Command } from 'commander'
import { nameOrId, namesOrIds } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'
import { time } from '../../output/format.ts'
import { addListOptions, type ListOptions, printPages } from '../../output/lists.ts'
import { type ReadingOptions, showInList } from '../../output/message-list.ts'
import { columns } from '../../output/output.ts'
import {
  addVerifyOption,
  type KnownSenders,
  learnSenders,
  readingJson,
  readingText,
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
The service checks the sender of a message when it accepts the message. --verify checks the sender again on this machine.
It needs the sender's name or public key, because a message only has the sender's agent id, and the service finds keys
only by name. With a name you trust the service to return the right key. With a public key that you got from the sender
you need not trust the service at all.

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
    const show = (message: Message) => showInList(context, { client: agent, senders }, message, options)
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
    const senders = await learnSenders(context, agent, verify)
    const message = await agent.message(id, { signal: context.signal })
    // A user who names a sender wants only messages of that sender.
    const reading = await readNamed(agent, message, verify.length === 0)
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
      const receipt = await context.agent().receipt(id, { signal: context.signal })
      context.out.print(receipt, [`${receipt.status} (accepted at ${time(receipt.accepted_at)})`], receipt.status)
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
