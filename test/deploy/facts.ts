/** What the code requires of a deployment. The answers come from running the code, so no list can become outdated. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ReadVariables } from './variables.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Facts {
  /** By service. */
  readonly variables: ReadonlyMap<string, ReadVariables>
  /** `<secret>/<key>` of every secret of a deployment. */
  readonly secretKeys: ReadonlySet<string>
}

let facts: Facts | undefined

/** Runs the code once for all files of a worker. */
export function readFacts(): Facts {
  facts ??= findFacts()
  return facts
}

function findFacts(): Facts {
  const variables = JSON.parse(run(['test/deploy/variables.ts'])) as Record<string, ReadVariables>
  return { variables: new Map(Object.entries(variables)), secretKeys: new Set(makeSecretKeys()) }
}

/** @returns the errors that each service's `readConfig` throws for its environment. Services without errors are left out. */
export function configProblems(environments: ReadonlyMap<string, Readonly<Record<string, string>>>): string[] {
  return JSON.parse(run(['test/deploy/config-problems.ts', JSON.stringify([...environments])])) as string[]
}

function makeSecretKeys(): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  try {
    run(['deploy/image/src/secrets.ts', folder])
    const secrets = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return secrets
      .map(({ name }) => name)
      .flatMap((secret) => readdirSync(join(folder, secret)).map((key) => `${secret}/${key}`))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function run(args: readonly string[]): string {
  return execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
}
