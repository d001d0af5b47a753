import { describe, expect, test } from 'vitest'
import { findWrongDependencies } from './dependency-direction.ts'

const PACKAGES = [
  { path: 'libs/nats/package.json', text: '{"name":"@svc/nats"}' },
  { path: 'libs/contracts/package.json', text: '{"name":"@svc/contracts"}' },
  { path: 'services/budget/package.json', text: '{"name":"@svc/budget"}' },
  { path: 'clients/console/package.json', text: '{"name":"@svc/console"}' },
  { path: 'deploy/build/package.json', text: '{"name":"@svc/build"}' },
  { path: 'deploy/local/package.json', text: '{"name":"@svc/local"}' },
  { path: 'test/package.json', text: '{"name":"@svc/test"}' },
]

/** Every form of import. Specifiers are separate, so that the check does not find imports in this file. */
const FORMS: Record<string, (specifier: string) => string> = {
  value: (specifier) => `import { x } from '${specifier}'`,
  type: (specifier) => `import type { X } from "${specifier}"`,
  lines: (specifier) => `import {\n  x,\n} from '${specifier}'`,
  'for its effects': (specifier) => `import '${specifier}'`,
  're-export': (specifier) => `export { x } from '${specifier}'`,
  'at run time': (specifier) => `const x = await import('${specifier}')`,
}

describe.each(Object.entries(FORMS))('dependencies run one way (%s)', (_, form) => {
  test.each([
    ['a service by package name', 'services/identity/src/a.ts', '@svc/budget/b.ts'],
    ['a service by relative path', 'services/identity/src/a.ts', '../../budget/src/b.ts'],
    ['a service in a test', 'services/identity/test/a.test.ts', '@svc/budget/b.ts'],
    ['a service from a lib', 'libs/nats/src/a.ts', '../../../services/budget/src/b.ts'],
    ['the console from the gateway', 'services/gateway/src/a.ts', '@svc/console/b.ts'],
    ['the build from a service', 'services/identity/src/a.ts', '@svc/build/b.ts'],
    ['the local stack from a service', 'services/identity/src/a.ts', '@svc/local/b.ts'],
    ['test support from production code', 'libs/nats/src/a.ts', '../../../test/support/b.ts'],
  ])('%s is a violation', (__, path, specifier) => {
    expect(findWrongDependencies([...PACKAGES, { path, text: form(specifier) }])).toHaveLength(1)
  })

  test.each([
    ['a lib from a service', 'services/identity/src/a.ts', '@svc/nats/b.ts'],
    ['its own files', 'services/identity/test/a.test.ts', '../src/b.ts'],
    ['test support from a test', 'libs/nats/src/a.test.ts', '../../../test/support/b.ts'],
    ['the build from the local stack', 'deploy/local/src/a.ts', '@svc/build/b.ts'],
    ['the local stack from test support', 'test/support/a.ts', '@svc/local/b.ts'],
    ['a package from outside the workspace', 'libs/nats/src/a.ts', 'nats'],
  ])('%s is allowed', (__, path, specifier) => {
    expect(findWrongDependencies([...PACKAGES, { path, text: form(specifier) }])).toEqual([])
  })
})

test('a service in a package.json is a violation', () => {
  const file = { path: 'services/identity/package.json', text: '{"dependencies":{"@svc/budget":"workspace:*"}}' }
  expect(findWrongDependencies([...PACKAGES, file])).toHaveLength(1)
})

test.each([
  ['devDependencies', 0],
  ['dependencies', 1],
])('test support in %s: %i violations', (kind, count) => {
  const file = { path: 'services/identity/package.json', text: `{"${kind}":{"@svc/test":"workspace:*"}}` }
  expect(findWrongDependencies([...PACKAGES, file])).toHaveLength(count)
})
