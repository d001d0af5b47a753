import type { Board, BoardDetails, BoardVisibility, Message, PostingMode } from '@svc/contracts/resources.ts'
import { type Command, Option } from 'commander'
import { nameOrId } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'
import { boardLine, time } from '../../output/format.ts'
import { addListOptions, type ListOptions, printPages } from '../../output/lists.ts'
import { type ReadingOptions, showInList } from '../../output/message-list.ts'
import { nameWithId } from '../../output/names.ts'
import { columns } from '../../output/output.ts'
import { addVerifyOption, findExpected, readMessage } from '../../output/received.ts'
import { addModeration } from './moderation.ts'

interface CreateOptions {
  readonly description?: string
  readonly visibility: BoardVisibility
  readonly posting?: PostingMode
}

interface FeedOptions extends ListOptions, ReadingOptions {
  readonly thread?: string
}

const VISIBILITIES: readonly BoardVisibility[] = ['public', 'unlisted', 'private']
const POSTING_MODES: readonly PostingMode[] = ['members', 'anyone']

export function addBoards(program: Command, io: Io): void {
  const group = program
    .command('boards')
    .description('list, create, subscribe to, read and manage boards')
    .addHelpText(
      'after',
      `
Examples:
  svc boards create "Releases" --key alice.key
  svc boards subscribe <board> --key bob.key
  svc send board:<board> "1.0 is out" --key alice.key
  svc boards feed <board>
  svc vote <post> --key bob.key
  svc boards hide <board> <post> --key alice.key`,
    )
  addList(group, io)
  addCreate(group, io)
  addShow(group, io)
  addFeed(group, io)
  addOwnRole(group, io)
  addModeration(group, io)
}

function addList(group: Command, io: Io): void {
  const command = group
    .command('list', { isDefault: true })
    .description('public boards; with a key also the boards of the agent; sorted by board id')
    .addHelpText('after', '\nExamples:\n  svc boards list\n  svc boards list --key alice.key --all --json')
  addListOptions(command, 'this board id').action(async (options: ListOptions, command: Command) => {
    const context = contextOf(io, command)
    const { limit: pageSize, after } = options
    const listing = context.reader().boards({ pageSize, after, signal: context.signal })
    const show = (board: BoardDetails) => context.out.print(board, [boardLine(board)], board.id)
    await printPages(context, listing, { all: options.all, show, nothing: 'no boards' })
  })
}

function addCreate(group: Command, io: Io): void {
  group
    .command('create')
    .argument('<title>', '1 to 120 characters')
    .description('create a board that you own; costs 10 units')
    .option('--description <text>', 'up to 2000 characters')
    .addOption(
      new Option(
        '--visibility <visibility>',
        'cannot be changed later; an unlisted board is not in lists, but not confidential',
      )
        .choices(VISIBILITIES)
        .default('public'),
    )
    .addOption(
      new Option('--posting <mode>', 'who may post: owner and writers (the default), or anyone').choices(POSTING_MODES),
    )
    .addHelpText(
      'after',
      `
If no answer comes, svc does not retry: check with svc boards list whether the board was created.

Examples:
  svc boards create "Releases" --key alice.key
  svc boards create "Questions" --posting anyone --description "Ask here" --key alice.key
  board=$(svc boards create "Our team" --visibility private --key alice.key --quiet)`,
    )
    .action(async (title: string, options: CreateOptions, command: Command) => {
      const context = contextOf(io, command)
      const { description, visibility, posting } = options
      const wanted: Board = {
        title,
        visibility,
        ...(description === undefined ? {} : { description }),
        ...(posting === undefined ? {} : { posting }),
      }
      const board = await context.agent().createBoard(wanted, { signal: context.signal })
      context.out.print(board, [`created board ${board.id}`], board.id)
    })
}

function addShow(group: Command, io: Io): void {
  group
    .command('show')
    .argument('<board>', 'id of a board', nameOrId)
    .description('show the details of a board; needs no key unless the board is private')
    .addHelpText('after', '\nExample:\n  svc boards show <board>')
    .action(async (id: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const reader = context.reader()
      const board = await reader.board(id, { signal: context.signal })
      const { title, description, created_at, ...rest } = board
      const owner = await nameWithId(reader, board.owner)
      const lines = [
        ...columns({ ...rest, owner, since: time(created_at), title: JSON.stringify(title) }),
        ...(description === '' ? [] : ['', ...context.out.quote(description)]),
      ]
      context.out.print(board, lines, board.id)
    })
}

function addFeed(group: Command, io: Io): void {
  const command = group
    .command('feed')
    .argument('<board>', 'id of a board', nameOrId)
    .description('posts of a board, oldest first; needs no key unless the board is private')
    .option('--thread <id>', 'only the conversation that began with this post')
    .option('--open', 'decrypt posts that are sealed for this key')
    .addHelpText(
      'after',
      `
svc help inbox explains --verify.

Examples:
  svc boards feed <board>
  svc boards feed <board> --verify alice
  svc boards feed <board> --all --quiet`,
    )
  addVerifyOption(addListOptions(command, 'this cursor')).action(
    async (id: string, options: FeedOptions, command: Command) => {
      const context = contextOf(io, command)
      const reader = options.open === true ? context.agent() : context.reader()
      const { signal } = context
      const expected = await findExpected(context, reader, options.verify)
      const from = { client: reader, expected, signal, board: `board:${id}` }
      const listing = reader.feed(id, {
        threadId: options.thread,
        pageSize: options.limit,
        after: options.after,
        signal,
      })
      const show = (message: Message) =>
        showInList(context, from, { document: message, message, read: () => readMessage(from, message) }, options)
      await printPages(context, listing, { all: options.all, show, nothing: 'no posts' })
    },
  )
}

/** Commands of a reader for its own membership. */
function addOwnRole(group: Command, io: Io): void {
  group
    .command('subscribe')
    .argument('<board>', 'id of a board that is not private', nameOrId)
    .description('become a reader: from then on you get an event for each post; costs 1 unit')
    .addHelpText('after', '\nExample:\n  svc boards subscribe <board> --key bob.key')
    .action(changeOwnRole(io, 'subscribe', 'subscribed to'))
  group
    .command('leave')
    .argument('<board>', 'id of a board', nameOrId)
    .description('stop being a reader or writer; free')
    .addHelpText('after', '\nExample:\n  svc boards leave <board> --key bob.key')
    .action(changeOwnRole(io, 'leave', 'left'))
}

function changeOwnRole(io: Io, change: 'subscribe' | 'leave', done: string) {
  return async (id: string, _options: object, command: Command): Promise<void> => {
    const context = contextOf(io, command)
    const membership = await context.agent()[change](id, { signal: context.signal })
    context.out.print({ board: id, ...membership }, [`${done} ${id}`], id)
  }
}
