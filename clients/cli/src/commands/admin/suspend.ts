import { isName } from '@svc/envelope/address.ts'
import { parseDateTime } from '@svc/envelope/date-time.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { time } from '../../output/format.ts'
import { type AdminGroup, type ChangeOptions, changeOf, DRY_RUN, operate, REASON } from './group.ts'

interface SuspensionOptions extends ChangeOptions {
  readonly reference?: string
}

const AGENT = ['<agent>', 'agent id or name', idOrName] as const
const REFERENCE = ['--reference <text>', 'your own reference, such as the number of a ticket', referenceText] as const
const MAX_REFERENCE_LENGTH = 200

export function addSuspend({ group, io }: AdminGroup): void {
  group
    .command('suspend')
    .argument(...AGENT)
    .option(
      '--until <time>',
      'when it ends by itself: a time such as 2026-12-01T00:00:00Z, or 30m, 24h, 7d from now',
      futureTime,
    )
    .option(...REFERENCE)
    .option(...REASON)
    .option(...DRY_RUN)
    .description(
      'suspend an agent: its requests are refused, its streams close, its webhook deliveries pause; nothing is lost',
    )
    .addHelpText(
      'after',
      `
Messages to a suspended agent are still accepted. After the end, deliveries go on with all their attempts. A repeat changes
nothing; another --until moves the end. Only the agent itself can revoke its key, and not while it is suspended.

Examples:
  svc admin suspend mallory --reason 'spam' --until 24h --reference ticket-17
  svc admin suspend <agent_id> --reason 'key stolen'`,
    )
    .action(
      async (
        agent: string,
        { until = null, reference, ...options }: SuspensionOptions & { until?: number | null },
        command: Command,
      ) => {
        const change = { agent, ...referenceOf(reference), ...changeOf(options) }
        await operate(io, command, async ({ ask }, { out }) => {
          const { suspendAgent } = await import('@svc/contracts/admin.ts')
          const result = await ask(suspendAgent, { ...change, until })
          const end = until === null ? 'until you resume it' : `until ${time(until)}`
          const who = `${result.name} ${result.agent_id}`
          const done = change.dry_run ? `would suspend ${who} ${end}` : `suspended ${who} ${end}`
          const said = result.changed ? done : `${who} was suspended ${end} before, nothing changed`
          out.print(shown(result, change), [said, ...waiting(result)])
        })
      },
    )
  group
    .command('resume')
    .argument(...AGENT)
    .option(...REFERENCE)
    .option(...REASON)
    .option(...DRY_RUN)
    .description('end the suspension of an agent; its deliveries go on')
    .addHelpText('after', "\nExample:\n  svc admin resume mallory --reason 'ticket-17: explained'")
    .action(async (agent: string, { reference, ...options }: SuspensionOptions, command: Command) => {
      const change = { agent, ...referenceOf(reference), ...changeOf(options) }
      await operate(io, command, async ({ ask }, { out }) => {
        const { resumeAgent } = await import('@svc/contracts/admin.ts')
        const result = await ask(resumeAgent, change)
        const who = `${result.name} ${result.agent_id}`
        const done = `${change.dry_run ? 'would resume' : 'resumed'} ${who}`
        const said = result.changed ? done : `${who} is not suspended, nothing changed`
        out.print(shown(result, change), [said, ...waiting(result)])
      })
    })
}

function referenceOf(reference: string | undefined): { reference?: string } {
  return reference === undefined ? {} : { reference }
}

function shown(result: object, { dry_run }: { dry_run: boolean }): object {
  return dry_run ? { ...result, dry_run } : result
}

/** Says what has not happened yet. */
function waiting({ waiting_for: services }: { waiting_for: readonly string[] }): string[] {
  return services.map(
    (service) => `${service} has not confirmed yet: ${EFFECTS[service] ?? 'it'} will follow by itself`,
  )
}

const EFFECTS: Readonly<Record<string, string>> = { messaging: 'its streams', webhook: 'its webhook' }

function idOrName(text: string): string {
  if (isAgentId(text) || isName(text)) return text
  throw new InvalidArgumentError('It must be an agent id, or a name without the authority.')
}

function referenceText(text: string): string {
  if (text.length >= 1 && text.length <= MAX_REFERENCE_LENGTH) return text
  throw new InvalidArgumentError(`It must have 1 to ${MAX_REFERENCE_LENGTH} characters.`)
}

const SECONDS = { m: 60, h: 3_600, d: 86_400 }

/** Parses a time or a duration from now. @returns Unix seconds. */
function futureTime(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? []
  const nowSeconds = Math.floor(Date.now() / 1_000)
  if (count !== undefined) return nowSeconds + Number(count) * SECONDS[unit as keyof typeof SECONDS]
  const ms = parseDateTime(text)
  if (ms === undefined)
    throw new InvalidArgumentError('It must be a time such as 2026-12-01T00:00:00Z, or 30m, 24h, 7d.')
  const seconds = Math.ceil(ms / 1_000)
  if (seconds > nowSeconds) return seconds
  throw new InvalidArgumentError('It must be in the future.')
}
