/**
 * `node test/deploy/variables.ts` prints, as JSON, the variables that each service reads: its own reader of the
 * environment is run on one that takes notes, first empty, then with an answer to everything. Since the services import
 * nothing of the tests and the tests nothing of the services, it is a process of its own.
 */
import { existsSync, readdirSync } from 'node:fs'

const SERVICES = new URL('../../services/', import.meta.url)

/** What one service reads: names of variables; those in `secrets` may also be given as a file's path, in `<name>_FILE`. */
export interface ReadVariables {
  names: string[]
  secrets: string[]
}

if (import.meta.main) {
  const all: Record<string, ReadVariables> = {}
  for (const service of readdirSync(SERVICES)) {
    const config = new URL(`${service}/src/config.ts`, SERVICES)
    if (existsSync(config)) all[service] = variablesOf((await import(config.href)).readConfig)
  }
  console.log(JSON.stringify(all))
}

function variablesOf(readConfig: (env: NodeJS.ProcessEnv) => unknown): ReadVariables {
  const read = new Set<string>()
  for (const answer of [undefined, '1']) {
    const env = new Proxy<NodeJS.ProcessEnv>(
      {},
      {
        get(_, name) {
          if (typeof name === 'string') read.add(name)
          return typeof name === 'string' && name.endsWith('_FILE') ? undefined : answer
        },
      },
    )
    try {
      readConfig(env)
    } catch {
      // It lists what is wrong with this environment; that it was read is what counts.
    }
  }
  const secrets = [...read].filter((name) => read.has(`${name}_FILE`))
  return { names: [...read].filter((name) => !name.endsWith('_FILE')).toSorted(), secrets: secrets.toSorted() }
}
