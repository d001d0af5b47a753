/** docs/operating/scale.md's budget of connections, computed from the manifests of production. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectionRows, connectionsAtMost, KEPT_CONNECTIONS } from './connections.ts'
import { KUBERNETES, render } from './kubernetes/render.ts'

const PAGE = readFileSync(new URL('../../docs/operating/scale.md', import.meta.url), 'utf8')

function tableOf(page: string): string[][] {
  const [, table = ''] = /<!-- table: connections -->\s+((?:\|.*\n)+)/.exec(page) ?? []
  const [, , ...rows] = table.trim().split('\n')
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

test('docs/operating/scale.md has the connections of every service, at rest, at its maximum and during an update', () => {
  const manifests = render(join(KUBERNETES, 'overlays/production'))
  const rows = connectionRows(manifests).map(({ who, pool, processes, connections }) => [
    who,
    String(pool),
    processes.join(' to '),
    ...connections.map(String),
  ])
  const sums = [0, 1, 2].map((at) =>
    connectionRows(manifests).reduce((sum, row) => sum + (row.connections[at] ?? 0), 0),
  )
  const kept = Array.from({ length: 3 }, () => String(KEPT_CONNECTIONS))
  expect(tableOf(PAGE)).toEqual([
    ...rows,
    ['kept for the superuser and you', '', '', ...kept],
    ['`max_connections`', '', '', ...sums.map((sum) => String(sum + KEPT_CONNECTIONS))],
  ])
  expect(sums[2]).toBe(connectionsAtMost(manifests))
})
