/** components/backup, as an operator adds it to a copy of overlays/production. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readFacts } from './facts.ts'
import { find, specOf } from './kubernetes/manifest-parts.ts'
import { KUBERNETES, type Manifest, renderCopy, type Workload, workloadsOf } from './kubernetes/render.ts'
import { RULES, type Rule, type RuleName } from './kubernetes/rules.ts'
import { findSchemaProblems } from './kubernetes/schema.ts'

const NAMES = Object.keys(RULES) as RuleName[]
const claim = parse(readFileSync(join(KUBERNETES, 'examples/backups/claim.yaml'), 'utf8')) as Manifest
let manifests: Manifest[]

beforeAll(() => {
  manifests = renderCopy('production', (_, edit) =>
    edit('kustomization.yaml', /(- \.\.\/\.\.\/components\/)verify/g, '$1verify\n  $1backup\n  $1ca-bundle'),
  )
})

function workload(name: string): Workload {
  const [found] = workloadsOf([find(manifests, 'CronJob', name)])
  if (found === undefined) throw new Error(`no CronJob ${name}`)
  return found
}

test('it is valid and keeps our rules', async () => {
  expect(await findSchemaProblems([...manifests, claim])).toEqual([])
  const facts = readFacts()
  for (const name of NAMES) {
    const rule: Rule = RULES[name]
    expect([name, rule({ manifests, overlay: 'production', facts })]).toEqual([name, []])
  }
})

test.each(['backup', 'drill'])('%s may reach Postgres, trusts an authority of your own, and has the claim', (name) => {
  const { template, containers } = workload(name)
  const labels = template.metadata?.labels ?? {}
  const { podSelector } = specOf(manifests, 'NetworkPolicy', 'to-external-databases') as {
    podSelector: { matchExpressions: { key: string; operator: string; values: string[] }[] }
  }
  for (const { key, operator, values } of podSelector.matchExpressions)
    expect([key, values.includes(labels[key] ?? '')]).toEqual([key, operator === 'In'])
  expect(containers[0]?.env?.map((one) => one.name)).toEqual(['NODE_EXTRA_CA_CERTS', 'SVC_DATABASE_URL_FILE'])
  const volume = template.spec?.volumes?.find((one) => one.name === 'backups')
  expect(volume?.persistentVolumeClaim?.claimName).toBe(claim.metadata.name)
  expect(containers[0]?.volumeMounts?.find((one) => one.name === 'backups')).toEqual({
    ...{ name: 'backups', mountPath: '/backups' },
    ...(name === 'drill' ? { readOnly: true } : {}),
  })
})
