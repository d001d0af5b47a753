import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { type Command, InvalidArgumentError } from 'commander'
import type { Operator } from '../../admin/operator.ts'
import { type Context, contextOf } from '../../context.ts'
import type { ExitCode } from '../../exit-codes.ts'
import { type Io, UsageError } from '../../io.ts'

/** The dependencies of the operator's commands. */
export interface AdminGroup {
  readonly group: Command
  readonly io: Io
  readonly setExitCode: (code: ExitCode) => void
}

/** Connects as the operator. Loads NATS and the schema compiler here, because they would slow down the other commands. */
export async function operate<T>(
  io: Io,
  command: Command,
  work: (operator: Operator, context: Context) => Promise<T>,
): Promise<T> {
  const context = contextOf(io, command)
  const url = command.optsWithGlobals<{ natsUrl?: string }>().natsUrl ?? findNatsUrl(io)
  const { withOperator } = await import('../../admin/operator.ts')
  return withOperator(url, (operator) => work(operator, context))
}

export const DRY_RUN = ['--dry-run', 'show what would be done, and change nothing'] as const

/** Parses an agent id. */
export function agentId(text: string): string {
  if (isAgentId(text)) return text
  throw new InvalidArgumentError('It must be an agent id: svc lookup <name> shows it.')
}

function findNatsUrl({ env }: Io): string {
  if (env.SVC_NATS_URL !== undefined && env.SVC_NATS_URL !== '') return env.SVC_NATS_URL
  const file = join(env.SVC_DATA_DIR || '.data', 'admin-nats-url')
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new UsageError(
      `no NATS URL: use --nats-url or SVC_NATS_URL; no local stack runs here (${file} does not exist)`,
      {
        cause,
      },
    )
  }
}
