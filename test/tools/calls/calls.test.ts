import { describe, expect, test } from 'vitest'
import { covers, readRights, readUses } from './read-calls.ts'
import { fillReadmes, findStaleSections } from './sections.ts'

const BEGIN = '<!-- calls: written by `npx pnpm calls` -->'
const END = '<!-- end of calls -->'
const README = `# one\n\n${BEGIN}\nold\n${END}\n\nmore\n`

/** A system in which the gateway calls boards, boards charges budget through a library, and all serve health. */
const SYSTEM: Record<string, string> = {
  'libs/contracts/src/health.ts': [
    'export function healthOf(service: string) {',
    '  return defineCall({ subject: `svc.${' + 'service}.health` })',
    '}',
  ].join('\n'),
  'libs/contracts/src/boards.ts': [
    "export const getBoard = defineCall({ subject: 'svc.boards.get-board' })",
    'export type Board = { id: string }',
    "export const purge = defineCall({ subject: 'admin.boards.purge' })",
  ].join('\n'),
  'libs/contracts/src/budget.ts': [
    "export const reserve = defineCall({\n  subject: 'svc.budget.reserve',\n})",
    "export const release = defineCall({ subject: 'svc.budget.release' })",
  ].join('\n'),
  'libs/charging/package.json': '{ "name": "@svc/charging", "dependencies": { "@svc/contracts": "*" } }',
  'libs/charging/src/charging.ts':
    "import { type Owner, reserve as take } from '@svc/contracts/budget.ts'\nbus.call(take, {})",
  'libs/charging/src/charging.test.ts': "import { release } from '@svc/contracts/budget.ts'\nbus.call(release, {})",
  'libs/service/package.json': '{ "name": "@svc/service" }',
  'libs/service/src/start.ts': "import { healthOf } from '@svc/contracts/health.ts'\nhandle(healthOf(name), ready)",
  'services/gateway/package.json': '{ "name": "@svc/gateway", "dependencies": { "@svc/service": "*" } }',
  'services/gateway/src/routes.ts': [
    "import { type Board, getBoard } from '@svc/contracts/boards.ts'",
    "import { healthOf } from '@svc/contracts/health.ts'",
    'bus.call(getBoard, {})',
    'NAMES.map((name) => healthOf(name))',
  ].join('\n'),
  'services/boards/package.json':
    '{ "name": "@svc/boards", "dependencies": { "@svc/charging": "*", "@svc/service": "*" } }',
  'services/boards/src/service.ts':
    "import * as calls from '@svc/contracts/boards.ts'\nhandle(calls.getBoard, (request) => 1)\nhandle(calls.purge, all)",
  'clients/cli/src/purge.ts': "const { purge } = await import('@svc/contracts/boards.ts')\noperator.call(purge, {})",
  'deploy/nats/users.conf': [
    'MAY_GATEWAY: {',
    '  # "svc.nothing.>"',
    '  publish: ["svc.boards.>", "_INBOX_admin.gateway.>"]',
    '  subscribe: ["_INBOX_gateway.>"]',
    '}',
    'MAY_BOARDS: {',
    '  publish: [',
    '    "svc.budget.reserve", "accepted.>", "_INBOX_gateway.boards.>", "_INBOX_admin.boards.>"',
    '  ]',
    '  subscribe: ["svc.boards.>", "heard.*", "$SRV.>"]',
    '}',
    'MAY_BUDGET: {',
    '  publish: ["_INBOX_boards.budget.>", "_INBOX_admin.budget.>"]',
    '}',
    ...['IDENTITY', 'MESSAGING', 'STREAM', 'WEBHOOK'].flatMap((name) => [
      `MAY_${name}: {`,
      `  publish: ["_INBOX_admin.${name.toLowerCase()}.>"]`,
      '}',
    ]),
    'MAY_ADMIN: {',
    '  publish: ["admin.*.*.admin"]',
    '}',
  ].join('\n'),
  ...Object.fromEntries(
    ['gateway', 'identity', 'messaging', 'boards', 'budget', 'stream', 'webhook'].map((name) => [
      `services/${name}/README.md`,
      README,
    ]),
  ),
}

function filesWith(changed: Record<string, string> = {}) {
  return Object.entries({ ...SYSTEM, ...changed }).map(([path, text]) => ({ path, text }))
}

test('calls are found in services and in the libraries that they depend on, but not in tests or types', () => {
  expect(readUses(filesWith())).toEqual([
    { caller: 'gateway', subject: 'svc.boards.get-board' },
    { caller: 'gateway', subject: 'svc.boards.health' },
    { caller: 'boards', subject: 'svc.budget.reserve' },
    { caller: 'admin', subject: 'admin.boards.purge' },
  ])
})

test('a call in a comment does not count', () => {
  const path = 'services/boards/src/service.ts'
  const text = `${SYSTEM[path]}\n// calls.getBoard\n/* import { release } from '@svc/contracts/budget.ts' */`
  expect(readUses(filesWith({ [path]: text }))).toEqual(readUses(filesWith()))
})

test('permissions are read by user, without those in comments', () => {
  const rights = readRights(SYSTEM['deploy/nats/users.conf'] ?? '')
  expect(rights.get('gateway')).toEqual({
    publish: ['svc.boards.>', '_INBOX_admin.gateway.>'],
    subscribe: ['_INBOX_gateway.>'],
  })
  expect(rights.get('admin')).toEqual({ publish: ['admin.*.*.admin'], subscribe: [] })
})

test.each([
  ['svc.boards.>', 'svc.boards.get-board', true],
  ['svc.boards.>', 'svc.boards', false],
  ['svc.boards.>', 'svc.budget.reserve', false],
  ['admin.*.purge', 'admin.boards.purge', true],
  ['admin.*.purge', 'admin.boards.purge.more', false],
  ['svc.stream.open-at.>', 'svc.stream.open-at.*', true],
  ['svc.stream.open-at.one', 'svc.stream.open-at.*', false],
])('%s covers %s: %s', (pattern, subject, expected) => {
  expect(covers(pattern, subject)).toBe(expected)
})

test('the section names callers, callees and other subjects; the rest of the README is unchanged', () => {
  const filled = new Map(fillReadmes(filesWith()).map(({ path, text }) => [path, text]))
  expect(filled.get('services/boards/README.md')).toBe(`# one

${BEGIN}

Called by:

- gateway: \`get-board\`, \`health\`
- \`svc admin\`: \`purge\`

Calls:

- budget: \`reserve\`

Other subjects that it publishes: \`accepted.>\`.
Other subjects that it hears: \`heard.*\`.

${END}

more
`)
  expect(filled.get('services/stream/README.md')).toContain('No service calls it.\n\nIt calls no other service.')
})

describe('npx pnpm check', () => {
  const written = Object.fromEntries(fillReadmes(filesWith()).map(({ path, text }) => [path, text]))

  test('accepts the files that the command has written', () => {
    expect(findStaleSections(filesWith(written))).toEqual([])
  })

  test('names each README whose section is stale', () => {
    const more = "import { release } from '@svc/contracts/budget.ts'\nbus.call(release, {})"
    const conf = SYSTEM['deploy/nats/users.conf']?.replace('"accepted.>"', '"accepted.>", "svc.budget.release"') ?? ''
    const files = filesWith({ ...written, 'services/boards/src/more.ts': more, 'deploy/nats/users.conf': conf })
    expect(findStaleSections(files)).toEqual([
      'services/boards/README.md: its section of calls is stale; run `npx pnpm calls`',
      'services/budget/README.md: its section of calls is stale; run `npx pnpm calls`',
    ])
  })

  test('names each call whose caller has no permission for it', () => {
    const conf = SYSTEM['deploy/nats/users.conf']?.replace('"svc.budget.reserve", ', '') ?? ''
    expect(findStaleSections(filesWith({ ...written, 'deploy/nats/users.conf': conf }))).toEqual([
      'deploy/nats/users.conf: boards calls svc.budget.reserve but may not publish it',
    ])
  })

  test('names each service that may answer in place of another, and each that cannot answer its caller', () => {
    const conf = SYSTEM['deploy/nats/users.conf']?.replace('_INBOX_boards.budget.>', '_INBOX_boards.>') ?? ''
    expect(findStaleSections(filesWith({ ...written, 'deploy/nats/users.conf': conf }))).toEqual([
      'deploy/nats/users.conf: budget must answer on _INBOX_boards.budget.>',
      'deploy/nats/users.conf: budget must not publish to _INBOX_boards.>',
    ])
  })

  test('fails for a README without a place for the section', () => {
    const path = 'services/boards/README.md'
    expect(() => fillReadmes(filesWith({ [path]: '# boards' }))).toThrow(path)
  })
})
