import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { Command } from 'commander'
import { UsageError } from '../../io.ts'
import { type AdminGroup, type ChangeOptions, changeOf, DRY_RUN, operate, REASON } from './group.ts'

const MAX_UNITS = 1_000_000_000
const MAX_REFERENCE_LENGTH = 200

export function addGrant({ group, io }: AdminGroup): void {
  group
    .command('grant')
    .argument('<agent_id>', 'the agent that gets the credits')
    .argument('<units>', 'number of credits, 1 to 1,000,000,000')
    .argument('<reference>', 'what the credits are for, e.g. an invoice number; each reference is granted once')
    .option(...REASON)
    .option(...DRY_RUN)
    .description('grant credits; repeating a grant changes nothing')
    .addHelpText(
      'after',
      `
A reference that was granted to another agent, or with another amount, is refused (id_conflict).

Examples:
  svc admin grant "$(svc lookup alice --quiet)" 500 invoice-2026-17 --reason 'paid'
  svc admin grant <agent_id> 500 invoice-2026-17 --dry-run`,
    )
    .action(
      async (agentId: string, units: string, reference: string, ...[options, command]: [ChangeOptions, Command]) => {
        const grant = { ...parseGrant(agentId, units, reference), ...changeOf(options) }
        await operate(io, command, async ({ ask }, { out }) => {
          const { grantCredits } = await import('@svc/contracts/budget.ts')
          const dryRun = grant.dry_run
          const result = await ask(grantCredits, grant)
          const done = `${dryRun ? 'would grant' : 'granted'} ${grant.units} credits to ${agentId}`
          const said = result.granted ? done : `${reference} was granted before, nothing changed`
          const shown = dryRun ? { ...result, dry_run: true } : result
          out.print(shown, [`${said}; balance ${result.credit_balance}`])
        })
      },
    )
}

function parseGrant(agentId: string, units: string, reference: string) {
  if (!isAgentId(agentId)) throw new UsageError(`${agentId} is not an agent id: svc lookup <name> shows it`)
  const count = /^[1-9]\d{0,9}$/.test(units) ? Number(units) : Number.NaN
  if (!(count <= MAX_UNITS)) throw new UsageError(`units must be a whole number from 1 to ${MAX_UNITS}, not ${units}`)
  if (reference.length < 1 || reference.length > MAX_REFERENCE_LENGTH) {
    throw new UsageError(`the reference must have 1 to ${MAX_REFERENCE_LENGTH} characters`)
  }
  return { agent_id: agentId, units: count, reference }
}
