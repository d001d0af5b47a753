import type { Command } from 'commander'
import { sectionLines, wrongLine } from '../../admin/book-lines.ts'
import { wholeNumber } from '../../arguments.ts'
import { EXIT } from '../../exit-codes.ts'
import { type AdminGroup, agentId, operate } from './group.ts'

interface VerifyOptions {
  readonly agent?: string
  readonly page: number
}

export function addVerify({ group, io, setExitCode }: AdminGroup): void {
  group
    .command('verify')
    .option('--agent <agent_id>', 'verify only the books of this agent', agentId)
    .option('--page <n>', 'accounts per call', wholeNumber(1, 5_000), 5_000)
    .description(
      'check that the books add up: charges, credits, introductions, messages, logs; exits with 5 if they do not',
    )
    .addHelpText(
      'after',
      `
Every service verifies its own data, page by page. Data that several services keep is compared. The command changes
nothing and may run while the system works. Charges and operations of the last 23 hours are compared; older ones are deleted.

Examples:
  svc admin verify
  svc admin verify --agent <agent_id>
  svc admin verify --json | jq -c 'select(.wrong != null)'`,
    )
    .action(async ({ agent, page }: VerifyOptions, command: Command) => {
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const { verifyBooks } = await import('../../admin/verify-books.ts')
        const sections = await verifyBooks(ask, {
          agentId: agent,
          accountsPerPage: page,
          signal,
          onWrong: (section, wrong) => out.print({ section, wrong }, [wrongLine(section, wrong)]),
        })
        const wrong = sections.reduce((sum, section) => sum + section.wrong, 0)
        out.print({ sections, right: wrong === 0 }, sectionLines(sections))
        if (wrong > 0) setExitCode(EXIT.wrongBooks)
      })
    })
}
