import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '@svc/config/env-reader.ts'

const SERVICES = new URL('../../../services/', import.meta.url)

/**
 * The service with a schema that a command is for.
 * @param args of the command line: the service's name alone.
 * @throws ConfigError where it is not one.
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

/** The folder of its SQL. */
export function schemaDirOf(store: string): string {
  return fileURLToPath(new URL(`${store}/database`, SERVICES))
}
