import type { Command } from 'commander'
import { contextOf } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { time } from '../output/format.ts'
import { columns } from '../output/output.ts'

export function addBudget(program: Command, io: Io): void {
  program
    .command('budget')
    .description('units, credits and introductions of the current UTC day')
    .addHelpText('after', '\nExample:\n  svc budget --key alice.key')
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      const budget = await context.agent().budget({ signal: context.signal })
      context.out.print(
        budget,
        columns({
          'units used': `${budget.used_units} of ${budget.daily_free_units} free, ${budget.daily_hard_limit} at most`,
          credits: budget.credit_balance,
          introductions: `${budget.used_introductions} of ${budget.daily_introduction_limit}`,
          resets: time(budget.resets_at),
        }),
        String(budget.daily_hard_limit - budget.used_units),
      )
    })
}

/** @param fail sets the exit code if the service answers but does not work. */
export function addHealth(program: Command, io: Io, fail: (code: 1) => void): void {
  program
    .command('health')
    .description('show whether the service works; exits with 1 if it does not; needs no key')
    .addHelpText('after', '\nExample:\n  svc health --url http://127.0.0.1:8080')
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      const health = await context.visitor().health({ signal: context.signal })
      context.out.print(health, [`${health.status} (${health.service} ${health.version})`], health.status)
      if (health.status !== 'ok') fail(EXIT.refused)
    })
}
