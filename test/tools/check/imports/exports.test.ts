import { expect, test } from 'vitest'
import { findNeedlessExports } from './exports.ts'

const MANIFEST = {
  path: 'libs/nats/package.json',
  text: JSON.stringify({ name: '@svc/nats', exports: { './*.ts': './src/*.ts', '.': './src/main.ts' } }),
}
const BUS = 'libs/nats/src/bus.ts'
const USER = 'services/budget/src/a.ts'

/** Imports. The specifier is separate from the keyword, so that the checks do not find an import in this file. */
const imports = (names: string, from = '@svc/nats/bus.ts'): string => `import ${names} from '${from}'\n`

function findIn(path: string, text: string, user: string): string[] {
  return findNeedlessExports([MANIFEST, { path, text }, { path: USER, text: user }])
}

test.each([
  ['a function', 'export function call(): void {}'],
  ['an async function', 'export async function call(): Promise<void> {}'],
  ['a constant', 'export const call: number = 1'],
  ['a type', 'export type call = string'],
  ['an interface', 'export interface call {}'],
  ['a class', 'export class call {}'],
])('%s without an importer is reported', (_, text) => {
  expect(findIn(BUS, text, imports('{ other }'))).toEqual([`${BUS} exports call, which no other file imports`])
})

test.each([
  ['by name', imports('{ other, call }')],
  ['as a type', imports('{ type call }')],
  ['as a type', imports('type { call }')],
  ['by another name', imports('{ call as ask }')],
  ['by a re-export', `export { call } from '${'@svc/nats/bus.ts'}'\n`],
  ['by a path', imports('{ call }', '../../../libs/nats/src/bus.ts')],
  ['by an import of the whole file', imports('* as bus')],
  ['at run time', `const { call: ask } = await import('${'@svc/nats/bus.ts'}')\n`],
  ['at run time, by an import of the whole file', `const bus = await import('${'@svc/nats/bus.ts'}')\n`],
])('used %s: nothing is reported', (_, user) => {
  expect(findIn(BUS, 'export function call(): void {}', user)).toEqual([])
})

test.each([
  ['an entry point of a package', 'libs/nats/src/main.ts'],
  ['a contract', 'libs/contracts/src/bus.ts'],
])('%s may export anything', (_, path) => {
  expect(findIn(path, 'export function call(): void {}', '')).toEqual([])
})
