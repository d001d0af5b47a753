/**
 * `node test/deploy/variables.ts` prints, as JSON, the variables that each service reads. It runs the service's own reader
 * on an environment that records each read: first on an empty one, then with a value for everything. It is a separate
 * process, because services import nothing from tests, and tests import nothing from services.
 */
import { existsSync, readdirSync } from 'node:fs'

const SERVICES = new URL('../../services/', import.meta.url)

/** The variables that one service reads. Those in `secrets` can also be read from a file, whose path is in `<name>_FILE`. */
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
      // The reader reports errors for this environment, but only its reads matter here.
    }
  }
  const secrets = [...read].filter((name) => read.has(`${name}_FILE`))
  return { names: [...read].filter((name) => !name.endsWith('_FILE')).toSorted(), secrets: secrets.toSorted() }
}
