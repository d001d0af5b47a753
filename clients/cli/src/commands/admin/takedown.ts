import { ApiError } from '@svc/sdk/errors.ts'
import { type Command, InvalidArgumentError } from 'commander'
import type { Operator } from '../../admin/operator.ts'
import { UsageError } from '../../io.ts'
import { type AdminGroup, type ChangeOptions, changeOf, DRY_RUN, operate, REASON } from './group.ts'

export interface TargetOptions extends ChangeOptions {
  readonly reference?: string
  readonly message?: boolean
  readonly board?: boolean
}

export const REFERENCE = [
  '--reference <text>',
  'your own reference, such as the number of a ticket',
  reference,
] as const
export const AS_MESSAGE = ['--message', 'the id is that of a message'] as const
export const AS_BOARD = ['--board', 'the id is that of a board'] as const

export function addTakedown(admin: AdminGroup): void {
  admin.group
    .command('takedown')
    .argument('<message|board>', 'the id of a message, a post or a board; messages are looked up first')
    .option(...REASON)
    .option(...REFERENCE)
    .option(...AS_MESSAGE)
    .option(...AS_BOARD)
    .option(...DRY_RUN)
    .description('hide a message or a board from everybody, its sender, recipient and owner included')
    .addHelpText(
      'after',
      `
The message or board is then absent everywhere: 404, in no list, no event, no delivery. svc admin restore <id> shows it again: a
message until it expires, a board at any time. If the command is interrupted, repeat it.

Examples:
  svc admin takedown <message_id> --reason 'a threat' --reference INC-17
  svc admin takedown <board_id> --board --reason 'spam' --dry-run`,
    )
    .action((id: string, options: TargetOptions, command: Command) =>
      setTakenDown(admin, { id, takenDown: true, options, command }),
    )
}

/** Takes a message or a board down, or restores it, and says which it was. */
export async function setTakenDown(
  { io }: AdminGroup,
  { id, takenDown, options, command }: { id: string; takenDown: boolean; options: TargetOptions; command: Command },
): Promise<void> {
  if (options.message && options.board) throw new UsageError('use --message or --board, not both')
  const request = { ...changeOf(options), ...(options.reference === undefined ? {} : { reference: options.reference }) }
  await operate(io, command, async ({ ask }, { out }) => {
    const target = { id, takenDown, request, ask, note: (text: string) => out.note(text) }
    const found =
      (options.board ? undefined : await changeMessage(target)) ??
      (options.message ? undefined : await changeBoard(target))
    if (found === undefined) throw notFound(id, options)
    const [would, done] = takenDown ? ['take down', 'took down'] : ['restore', 'restored']
    const what = `the ${found.kind} ${id}`
    const said = request.dry_run ? `would ${would} ${what}` : `${done} ${what}`
    const repeated = `${what} ${takenDown ? 'was taken down before' : 'is not taken down'}, nothing changed`
    out.print({ id, ...found, dry_run: request.dry_run }, [found.changed ? said : repeated])
  })
}

interface Target {
  readonly id: string
  readonly takenDown: boolean
  readonly request: ReturnType<typeof changeOf> & { reference?: string }
  readonly ask: Operator['ask']
  readonly note: (text: string) => void
}

interface Found {
  readonly kind: 'message' | 'post' | 'board'
  readonly changed: boolean
}

/**
 * The message first, then its delivery: readers matter more. If the second call fails, a repeat makes it.
 * @returns undefined if there is no such message.
 */
async function changeMessage({ id, takenDown, request, ask, note }: Target): Promise<Found | undefined> {
  const [calls, { isMessageId }] = await Promise.all([
    import('@svc/contracts/admin.ts'),
    import('@svc/contracts/ids.ts'),
  ])
  if (!isMessageId(id)) return undefined
  const call = takenDown ? calls.takedownMessage : calls.restoreMessage
  const found = await ask(call, { id, ...request }).catch(unlessNotFound)
  if (found === undefined) return undefined
  const { kind, changed, recipient } = found
  if (recipient === null || request.dry_run) return { kind, changed }
  const { dry_run: _, ...why } = request
  const deliver = takenDown ? calls.holdMessage : calls.releaseMessage
  try {
    const delivery = await ask(deliver, { agent_id: recipient, message_id: id, ...why })
    return { kind, changed: changed || delivery.changed }
  } catch (error) {
    note(
      `the message is ${takenDown ? 'taken down, but its delivery is not held' : 'restored, but its delivery is not due'} yet`,
    )
    throw error
  }
}

/** @returns undefined if there is no such board. */
async function changeBoard({ id, takenDown, request, ask }: Target): Promise<Found | undefined> {
  const [calls, { isBoardId }] = await Promise.all([import('@svc/contracts/admin.ts'), import('@svc/contracts/ids.ts')])
  if (!isBoardId(id)) return undefined
  const call = takenDown ? calls.takedownBoard : calls.restoreBoard
  const found = await ask(call, { board_id: id, ...request }).catch(unlessNotFound)
  return found && { kind: 'board', changed: found.changed }
}

function unlessNotFound(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'not_found') return undefined
  throw error
}

function notFound(id: string, { message, board }: TargetOptions): ApiError {
  const what = message ? 'no live message' : board ? 'no board' : 'no live message and no board'
  return new ApiError({ status: 404, code: 'not_found', message: `${what} has the id ${id}` })
}

const MAX_REFERENCE_LENGTH = 200

function reference(text: string): string {
  if (text.length >= 1 && text.length <= MAX_REFERENCE_LENGTH) return text
  throw new InvalidArgumentError(`It must have 1 to ${MAX_REFERENCE_LENGTH} characters.`)
}
