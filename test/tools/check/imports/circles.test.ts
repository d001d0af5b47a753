import { describe, expect, test } from 'vitest'
import type { SourceFile } from '../source-file.ts'
import { findCircles } from './circles.ts'

/** The specifier is separate from its keyword, so that the checks do not find an import in this file. */
const from = (specifier: string): string => `import { x } from '${specifier}'\n`
const typeFrom = (specifier: string): string => `import type { X } from '${specifier}'\n`

const PACKAGES: Record<string, object> = {
  'libs/nats/package.json': { name: '@svc/nats', exports: { './*.ts': './src/*.ts' } },
  'libs/tls/package.json': { name: '@svc/tls', exports: { './*.ts': './src/*.ts' } },
  'test/package.json': { name: '@svc/test', exports: { './*.ts': './*.ts' }, dependencies: { '@svc/nats': '' } },
}

function filesOf(texts: Record<string, string>): SourceFile[] {
  const manifests = Object.entries(PACKAGES).map(([path, manifest]) => [path, JSON.stringify(manifest)] as const)
  return Object.entries({ ...Object.fromEntries(manifests), ...texts }).map(([path, text]) => ({ path, text }))
}

const A = 'services/budget/src/a.ts'
const B = 'services/budget/src/rooms/b.ts'

describe('a circle', () => {
  test.each<[string, Record<string, string>, string]>([
    ['of two files', { [A]: from('./rooms/b.ts'), [B]: from('../a.ts') }, `of files: ${A} -> ${B} -> ${A}`],
    ['of types', { [A]: typeFrom('./rooms/b.ts'), [B]: typeFrom('../a.ts') }, `of files: ${A} -> ${B} -> ${A}`],
    ['of a file with itself', { [A]: from('./a.ts') }, `of files: ${A} -> ${A}`],
    [
      'of three files, behind another one',
      {
        [A]: from('./b.ts'),
        ...ring('services/budget/src/b.ts', 'services/budget/src/c.ts', 'services/budget/src/d.ts'),
      },
      'of files: services/budget/src/b.ts -> services/budget/src/c.ts -> services/budget/src/d.ts -> services/budget/src/b.ts',
    ],
    [
      'of test support',
      { 'test/a.ts': from('@svc/test/rooms/b.ts'), 'test/rooms/b.ts': from('../a.ts') },
      'of files: test/a.ts -> test/rooms/b.ts -> test/a.ts',
    ],
    [
      'of packages, by their files',
      { 'libs/nats/src/a.ts': from('@svc/tls/b.ts'), 'libs/tls/src/c.ts': typeFrom('@svc/nats/d.ts') },
      'of packages: libs/nats -> libs/tls -> libs/nats',
    ],
    [
      'of packages, by a development dependency',
      { 'libs/nats/package.json': JSON.stringify({ name: '@svc/nats', devDependencies: { '@svc/test': '' } }) },
      'of packages: libs/nats -> test -> libs/nats',
    ],
  ])('%s is found', (_, texts, sentence) => {
    expect(findCircles(filesOf(texts))).toEqual([`a circle ${sentence}`])
  })

  test.each<[string, Record<string, string>]>([
    ['two paths to one file', { [A]: from('./b.ts') + from('./c.ts'), 'services/budget/src/c.ts': from('./b.ts') }],
    ['a test that uses test support', { 'libs/nats/test/a.test.ts': from('@svc/test/support/b.ts') }],
    ['packages from outside the workspace', { [A]: from('nats') }],
  ])('%s is no circle', (_, texts) => {
    expect(findCircles(filesOf(texts))).toEqual([])
  })
})

/** Files of one folder, each of which imports the next. */
function ring(...paths: string[]): Record<string, string> {
  const next = (at: number): string => (paths[(at + 1) % paths.length] ?? '').split('/').at(-1) ?? ''
  return Object.fromEntries(paths.map((path, at) => [path, from(`./${next(at)}`)]))
}
