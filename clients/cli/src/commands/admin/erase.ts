import type { ErasureState } from '@svc/contracts/erasure.ts'
import type { Command } from 'commander'
import { UsageError } from '../../io.ts'
import { time } from '../../output/format.ts'
import { type AdminGroup, type ChangeOptions, changeOf, DRY_RUN, operate, REASON } from './group.ts'

interface EraseOptions extends ChangeOptions {
  readonly in: number
  readonly reference?: string
  readonly cancel?: boolean
  readonly list?: boolean
}

const DEFAULT_DELAY = '7d'
const LISTED = 1_000

export function addErase({ group, io }: AdminGroup): void {
  group
    .command('erase')
    .argument('[agent]', 'the id or the name of the agent')
    .option('--in <duration>', 'when to begin, such as 7d, 12h or 0s', seconds, seconds(DEFAULT_DELAY))
    .option('--reference <text>', 'your own reference, such as the number of the demand')
    .option('--cancel', 'withdraw an erasure that has not begun')
    .option('--list', 'show erasures, with the reports of those that are done')
    .option(...REASON)
    .option(...DRY_RUN)
    .description('erase an agent for ever: its id, name, settings and messages')
    .addHelpText(
      'after',
      `
The agent is suspended at once. When the time has passed, its messages, contacts, webhook, boards and settings are deleted,
and its id and its name can never be registered again. An erasure that has begun cannot be undone. Backups contain the agent until you delete them.

Examples:
  svc admin erase alice --reason 'demand of the owner' --reference 4711 --dry-run
  svc admin erase alice --reason 'demand of the owner' --reference 4711
  svc admin erase alice --cancel --reason 'demand withdrawn'
  svc admin erase --list`,
    )
    .action(async (agent: string | undefined, options: EraseOptions, command: Command) => {
      if (options.list === true) return await list({ io, command })
      if (agent === undefined) throw new UsageError('no agent named: give its id or its name, or --list')
      const change = { agent, ...changeOf(options) }
      await operate(io, command, async ({ ask }, { out }) => {
        const calls = await import('@svc/contracts/erasure.ts')
        const would = change.dry_run ? 'would be ' : ''
        if (options.cancel === true) {
          const result = await ask(calls.cancelErasure, change)
          const state = result.resumed ? 'resumed' : 'still suspended'
          out.print({ ...result, dry_run: change.dry_run }, [`${would}cancelled; ${result.agent_id} is ${state}`])
          return
        }
        const { reference } = options
        const request = { ...change, delay_seconds: options.in, ...(reference === undefined ? {} : { reference }) }
        const { changed, erasure } = await ask(calls.demandErasure, request)
        const { agent_id: id, finished_at: finishedAt } = erasure
        const said =
          finishedAt === null
            ? `${id} ${would === '' ? 'is' : 'would be'} suspended, and is erased from ${time(erasure.due_at)} on`
            : `erased at ${time(finishedAt)}; ${erasure.tombstone} replaces its id`
        out.print({ changed, ...erasure, dry_run: change.dry_run }, [changed ? said : `${said}; nothing changed`])
      })
    })
}

async function list({ io, command }: Pick<AdminGroup, 'io'> & { command: Command }): Promise<void> {
  await operate(io, command, async ({ ask }, { out }) => {
    const { listErasures } = await import('@svc/contracts/erasure.ts')
    const { erasures } = await ask(listErasures, { limit: LISTED })
    await out.list(async () => {
      for (const erasure of erasures) out.print(erasure, linesOf(erasure))
    })
    if (erasures.length === 0) out.note('no erasures')
  })
}

function linesOf(erasure: ErasureState): string[] {
  const { tombstone, agent_id: id, due_at: dueAt, finished_at: finishedAt, step, operator, reason, reference } = erasure
  const state =
    finishedAt !== null
      ? `done at ${time(finishedAt)}`
      : step === 'close'
        ? `begins at ${time(dueAt)}`
        : `at the step ${step}`
  const counts = Object.entries(erasure.report).map(
    ([part, kinds]) =>
      `    ${part}: ${Object.entries(kinds)
        .map(([kind, count]) => `${count} ${kind}`)
        .join(', ')}`,
  )
  return [
    `${id ?? tombstone}  ${state}`,
    `    by ${operator}: ${reason}${reference === null ? '' : ` (${reference})`}`,
    ...counts,
  ]
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }
const MAX_DAYS = 90

function seconds(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
  const total = Number(count) * (UNITS[unit] ?? Number.NaN)
  if (count !== '' && total <= MAX_DAYS * 86_400) return total
  throw new UsageError(`--in is ${text}: write a number and s, m, h or d, at most ${MAX_DAYS}d`)
}
