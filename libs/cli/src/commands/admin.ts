import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { Command } from 'commander'
import { contextOf } from '../context.ts'
import { type Io, UsageError } from '../io.ts'

const MAX_UNITS = 1_000_000_000
const MAX_REFERENCE_LENGTH = 200

export function addAdmin(program: Command, io: Io): void {
  const group = program.command('admin').description('for the operator, over NATS')

  group
    .command('grant')
    .argument('<agent_id>', 'who gets the credits')
    .argument('<units>', 'how many, 1 to 1,000,000,000')
    .argument('<reference>', 'what they are for, e.g. the number of a settlement: one reference is granted once')
    .option('--nats-url <url>', 'nats://user:password@host:port')
    .description('grant credits; the same grant again changes nothing')
    .addHelpText(
      'after',
      `
NATS is found by --nats-url, by SVC_NATS_URL, or by the local stack's data folder (SVC_DATA_DIR, .data) while it runs.

Example:
  svc admin grant "$(svc lookup alice --json | jq -r .agent_id)" 500 invoice-2026-17`,
    )
    .action(
      async (agentId: string, units: string, reference: string, options: { natsUrl?: string }, command: Command) => {
        const context = contextOf(io, command)
        const grant = parseGrant(agentId, units, reference)
        const url = options.natsUrl ?? findNatsUrl(io)
        // loaded by this command alone: NATS and the schema compiler are most of what the others would load
        const { grantCredits } = await import('../grant-credits.ts')
        const result = await grantCredits(url, grant)
        const done = result.granted
          ? `granted ${grant.units} credits to ${agentId}`
          : `${reference} was granted before; nothing changed`
        context.out.print(result, [`${done}; balance ${result.credit_balance}`])
      },
    )
}

function parseGrant(agentId: string, units: string, reference: string) {
  if (!isAgentId(agentId)) throw new UsageError(`${agentId} is not an agent id: svc lookup <name> shows it`)
  const count = /^[1-9]\d{0,9}$/.test(units) ? Number(units) : Number.NaN
  if (!(count <= MAX_UNITS)) throw new UsageError(`units are a whole number from 1 to ${MAX_UNITS}`)
  if (reference.length < 1 || reference.length > MAX_REFERENCE_LENGTH) {
    throw new UsageError(`a reference has 1 to ${MAX_REFERENCE_LENGTH} characters`)
  }
  return { agent_id: agentId, units: count, reference }
}

function findNatsUrl({ env }: Io): string {
  if (env.SVC_NATS_URL !== undefined && env.SVC_NATS_URL !== '') return env.SVC_NATS_URL
  const file = join(env.SVC_DATA_DIR || '.data', 'admin-nats-url')
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new UsageError(`where is NATS? Give --nats-url or SVC_NATS_URL; no local stack runs here (no ${file})`, {
      cause,
    })
  }
}
