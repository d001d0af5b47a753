import type { TestProject } from 'vitest/node'
import { startEngineBroker } from './engine-broker.ts'

declare module 'vitest' {
  interface ProvidedContext {
    engineBroker: string
  }
}

/** Vitest's `globalSetup`: offers the engines to the tests, and ends what they started. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const broker = await startEngineBroker()
  project.provide('engineBroker', broker.url)
  return () => broker.close()
}
