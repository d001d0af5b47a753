import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { dashboardFiles, FOLDER } from './files.ts'
import { scoped } from './queries.ts'

const KUSTOMIZATION = new URL('../kustomization.yaml', FOLDER)
const VARIABLES = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'

test('the files are those that `npx pnpm dashboards` writes', () => {
  const names = globSync('*', { cwd: fileURLToPath(FOLDER) })
  const committed = names.map((name) => [name, readFileSync(new URL(name, FOLDER), 'utf8')] as const)
  expect(new Map(committed)).toEqual(dashboardFiles())
})

test('kustomize makes a ConfigMap of each dashboard', () => {
  const { configMapGenerator } = parse(readFileSync(KUSTOMIZATION, 'utf8')) as {
    configMapGenerator: { name: string; files: string[] }[]
  }
  const expected = [...dashboardFiles().keys()].map((file) => `dashboard-${file} dashboards/${file}`)
  expect(configMapGenerator.map(({ name, files }) => `${name}.json ${files.join()}`).sort()).toEqual(expected.sort())
})

test.each([
  ['max(agentmsg_a)', undefined, `max(agentmsg_a{${VARIABLES}})`],
  ['agentmsg_a{b=~"c|d"} / process_e', undefined, `agentmsg_a{b=~"c|d", ${VARIABLES}} / process_e{${VARIABLES}}`],
  [
    'sum by (b) (rate(nodejs_a{b!="c"}[5m]))',
    'x',
    `sum by (b) (rate(nodejs_a{component="x", b!="c", ${VARIABLES}}[5m]))`,
  ],
  ['svc:a:rate5m{namespace=~"$namespace"} or vector(0)', 'x', 'svc:a:rate5m{namespace=~"$namespace"} or vector(0)'],
])('%s of service %s', (expression, component, expected) => {
  expect(scoped(expression, component)).toBe(expected)
})
