/**
 * `npx pnpm release` makes a release in `built/release`, and publishes it. It first lists what is missing, and
 * stops if the list is not empty. `--check` only prints the list. `--dry-run` makes the release even if something is missing, and prints
 * the commands that publish it, without running them. `--publish` publishes what an earlier run has made.
 */
import { spawnSync } from 'node:child_process'
import { delimiter, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { NO_PROGRAMS, unpackPrograms } from '@svc/helm/programs.ts'
import { OWNER, PLACEHOLDER } from '@svc/npm/packages.ts'
import { FOLDER, makeArtifacts, ROOT, readArtifacts } from './artifacts.ts'
import { publishCommands } from './commands.ts'
import { findMissing, readFacts } from './missing.ts'

const { values } = parseArgs({
  options: { check: { type: 'boolean' }, 'dry-run': { type: 'boolean' }, publish: { type: 'boolean' } },
})
const isDryRun = values['dry-run'] === true
const facts = readFacts(process.env)
const missing = findMissing(facts)
if (!isDryRun && values.check !== true) missing.push(...findMissingPrograms())
console.log(missing.length === 0 ? `${facts.version}: nothing is missing` : `${facts.version} is not ready:`)
for (const one of missing) console.log(`  ${one}`)
if (missing.length > 0 && !isDryRun) process.exitCode = 1
else if (values.check !== true) release()

function release(): void {
  const { digest, files } = values.publish === true ? readArtifacts() : makeAndShow()
  console.log(isDryRun ? '\nWould run:' : '')
  const env = { ...process.env, PATH: `${unpackPrograms()}${delimiter}${process.env.PATH}` } // for helm
  for (const command of publishCommands({ ...facts, digest, files: files.map(({ name }) => name) })) {
    console.log(`  ${command.join(' ')}`)
    if (isDryRun) continue
    const { status, error } = spawnSync(command[0], command.slice(1), { cwd: FOLDER, env, stdio: 'inherit' })
    if (status !== 0) throw new Error(`${command[0]} failed`, { cause: error })
  }
}

function makeAndShow(): ReturnType<typeof makeArtifacts> {
  const made = makeArtifacts(OWNER.repository.startsWith(PLACEHOLDER) ? undefined : OWNER.repository)
  console.log(`\nIn ${relative(ROOT, FOLDER)}:`)
  const width = Math.max(...made.files.map(({ name }) => name.length))
  for (const { name, bytes, sum } of made.files)
    console.log(`  ${name.padEnd(width)}  ${String(bytes).padStart(11)}  ${sum}`)
  return made
}

function findMissingPrograms(): string[] {
  const missing = ['skopeo', 'cosign', 'gh']
    .filter((name) => spawnSync(name, ['--version']).error !== undefined)
    .map((name) => `${name} is not installed`)
  return NO_PROGRAMS === undefined ? missing : [...missing, `helm: ${NO_PROGRAMS}`]
}
