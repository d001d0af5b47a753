import { createLogger } from '@svc/telemetry/logger.ts'
import { expect, test } from 'vitest'
import { kindOf } from '../http/load/load.ts'
import { consoleRoutes } from './console.ts'
import { discoveryRoutes } from './discovery.ts'
import { docsRoutes } from './docs.ts'

const routes = [
  ...docsRoutes(),
  ...consoleRoutes(createLogger('test', 'silent')),
  ...discoveryRoutes({ manifest: {}, openapi: {} }),
]

test.each(routes.map(({ path, ...route }) => [path, { path, ...route }] as const))(
  'a flood of files cannot take more than the share of one client: %s is a document',
  (_, operation) => {
    expect(kindOf(operation, {})).toBe('document')
  },
)
