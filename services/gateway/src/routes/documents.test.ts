import { expect, test } from 'vitest'
import { EXAMPLES } from '../api/examples.ts'
import { kindOf } from '../api/operation.ts'
import { consoleRoutes } from './console.ts'
import { manifestRoute, openApiRoute } from './discovery.ts'
import { docsRoutes } from './docs.ts'
import { homeRoute } from './home.ts'

const routes = [
  ...docsRoutes().filter(({ isDocument }) => isDocument),
  homeRoute({ hasConsole: true }),
  ...consoleRoutes(new URL('file:///')),
  manifestRoute({ manifest: EXAMPLES.manifest }),
  openApiRoute({}),
]

test.each(routes.map(({ path, ...route }) => [path, { path, ...route }] as const))(
  'a flood of files cannot take more than the share of one client: %s is a document',
  (_, operation) => {
    expect(kindOf(operation, {})).toBe('document')
  },
)
