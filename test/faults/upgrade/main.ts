/**
 * `npx pnpm faults:upgrade [--from <revision>]`: runs an earlier revision of this repository, upgrades it to this tree
 * under load, one process at a time, and rolls it back. Prints each step, and fails if anything is wrong.
 */
import { readCommandLine } from '../../support/run/command-line.ts'
import { checkOut, revisionBeforeLastSql, titleOf } from './old-release.ts'
import { runUpgrade } from './upgrade.ts'

const { values } = readCommandLine({
  command: 'npx pnpm faults:upgrade',
  does: 'Upgrades an earlier revision to this tree under load, one process at a time, and rolls it back.',
  options: {
    from: {
      kind: 'text',
      placeholder: 'revision',
      what: 'the revision to upgrade; default: the code before the last commit that changed SQL, or the last baseline if it is later',
    },
    answers: { kind: 'number', whole: true, min: 1, default: 60, what: 'correct answers between two steps' },
    'keep-nats': { kind: 'flag', what: 'NATS keeps its old configuration, with its users' },
    'no-rollback': { kind: 'flag', what: 'stops after the upgrade' },
  },
})

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}

/** @returns the exit code. */
async function main(): Promise<number> {
  await using old = await checkOut(values.from ?? (await revisionBeforeLastSql()))
  console.log(`from      ${old.title}`)
  console.log(`to        ${await titleOf('HEAD')}, with the changes of this tree`)
  const { replaced, answered, streams, deliveries, wrong } = await runUpgrade({
    old,
    answers: values.answers,
    natsToo: !values['keep-nats'],
    back: !values['no-rollback'],
    say: (line) => console.log(`  ${line}`),
  })
  console.log(`replaced  ${replaced} processes`)
  console.log(`answered  ${answered} requests`)
  console.log(`streams   ${streams} opened`)
  console.log(`webhooks  ${deliveries} delivered`)
  for (const one of wrong.slice(0, 20)) console.log(`  WRONG  ${one}`)
  console.log(`wrong: ${wrong.length}`)
  return wrong.length === 0 ? 0 : 1
}
