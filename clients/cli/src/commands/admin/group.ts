import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type EnvReader, envReader } from '@svc/config/env-reader.ts'
import { type NatsConfig, readNatsAccess } from '@svc/config/nats-access.ts'
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
  const nats = readNats(io, command.optsWithGlobals<{ natsUrl?: string }>().natsUrl)
  const { withOperator } = await import('../../admin/operator.ts')
  return withOperator(nats, (operator) => work(operator, context))
}

export const DRY_RUN = ['--dry-run', 'show what would be done, and change nothing'] as const
export const REASON = ['--reason <text>', 'why; the audit keeps it with your name', reasonText] as const

export interface ChangeOptions {
  readonly dryRun?: boolean
  readonly reason?: string
}

/** The members of a request that changes something. @throws UsageError if the reason is missing. */
export function changeOf({ dryRun = false, reason }: ChangeOptions): { dry_run: boolean; reason?: string } {
  if (dryRun) return { dry_run: true }
  if (reason === undefined) throw new UsageError('--reason is missing: say why, for the audit')
  return { dry_run: false, reason }
}

const MAX_REASON_LENGTH = 500

function reasonText(text: string): string {
  const isText = text.trim().length > 0 && text.length <= MAX_REASON_LENGTH && !/\p{Cc}/u.test(text)
  if (isText) return text
  throw new InvalidArgumentError(`It must be one line of 1 to ${MAX_REASON_LENGTH} characters.`)
}

/** Parses an agent id. */
export function agentId(text: string): string {
  if (isAgentId(text)) return text
  throw new InvalidArgumentError('It must be an agent id: svc lookup <name> shows it.')
}

function readNats({ env }: Io, option: string | undefined): NatsConfig {
  const reader = envReader(env)
  const natsUrl = option ?? findNatsUrl(env, reader)
  const natsAccess = readNatsAccess(reader, natsUrl)
  try {
    reader.check()
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause })
  }
  return { natsUrl, natsAccess }
}

function findNatsUrl(env: Io['env'], reader: EnvReader): string {
  const isSet = ['SVC_NATS_URL', 'SVC_NATS_URL_FILE'].some((name) => reader.optional(name) !== undefined)
  if (isSet) return reader.secret('SVC_NATS_URL')
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
