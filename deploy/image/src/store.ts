import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '@svc/config/env-reader.ts'

const SERVICES = new URL('../../../services/', import.meta.url)

/**
 * The service that the command line names. It must have a schema.
 * @param args of the command line: only the service's name.
 * @throws ConfigError if the argument is not such a service.
 */
export function parseStore(args: readonly string[]): string {
  const stores = listStores()
  const [store = ''] = args
  if (args.length === 1 && stores.includes(store)) return store
  throw new ConfigError(`name one service: ${stores.join(', ')}`)
}

/** Every service with a schema. */
export function listStores(): string[] {
  return readdirSync(SERVICES)
    .filter((name) => existsSync(schemaDirOf(name)))
    .toSorted()
}

/** The folder of the service's SQL. */
export function schemaDirOf(store: string): string {
  return fileURLToPath(new URL(`${store}/database`, SERVICES))
}
