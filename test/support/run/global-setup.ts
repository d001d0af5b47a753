import { fileURLToPath } from 'node:url'
import { BROKER_VARIABLE } from '../engines/engines.ts'
import { startEngineBroker } from '../engines/nats/engine-broker.ts'
import { keepSystems } from '../system/kept-systems.ts'

/** The cache of compiled code. A build has its own (deploy/build). */
const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/node-compile', import.meta.url))

/** Vitest's `globalSetup`: offers the engines and the shared systems to the tests, and stops them at the end. */
export default async function setup(): Promise<() => Promise<void>> {
  const broker = await startEngineBroker(keepSystems())
  // Workers inherit both variables.
  process.env[BROKER_VARIABLE] = broker.url
  process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE
  return () => broker.close()
}
