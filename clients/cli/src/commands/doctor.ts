import type { Command } from 'commander'
import { contextOf } from '../context.ts'
import { diagnose } from '../doctor/checks.ts'
import type { Finding } from '../doctor/findings.ts'
import { EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import type { Style } from '../output/style.ts'

const STYLES: Partial<Record<Finding['result'], Style>> = {
  ok: 'good',
  failed: 'bad',
  warning: 'strong',
  skipped: 'faint',
}

/** @param fail sets the exit code if a check failed. */
export function addDoctor(program: Command, io: Io, fail: (code: 1) => void): void {
  program
    .command('doctor')
    .description(
      'find problems: versions, key file, TLS, reachability, clock, authority, registration, budget, proxies',
    )
    .addHelpText(
      'after',
      '\nChanges nothing and costs nothing. Exits with 1 if a check failed.\n\nExamples:\n  svc doctor\n  svc doctor --profile bob\n  svc doctor --url https://agents.example --json',
    )
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      await context.out.list(async () => {
        for await (const finding of diagnose(context)) {
          const { check, result, says } = finding
          const text = `${result.padEnd(7)}  ${check.padEnd(12)}  ${says}`
          const style = STYLES[result]
          context.out.print(
            finding,
            [style === undefined ? text : { text, style }],
            result === 'ok' ? undefined : check,
          )
          if (result === 'failed') fail(EXIT.refused)
        }
      })
    })
}
